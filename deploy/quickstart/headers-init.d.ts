/** SDK v1 names this type of browsers, which @types/node 20 does not declare. */
type HeadersInit = NonNullable<RequestInit["headers"]>;
