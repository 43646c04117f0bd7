/** What becomes of an issuer's tokens that are bound to a key (RFC 9449): refused, taken beside others, or alone. */
export const dpopModes = ["off", "accept", "require"] as const;

export type DpopMode = (typeof dpopModes)[number];
