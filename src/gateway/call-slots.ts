import type { CallSlots } from "./gateway.ts";

/** Counts calls under way by principal, on this replica alone. A slot is given back once, however often it is freed. */
export function createCallSlots(slotsPerPrincipalMax: number): CallSlots {
  const taken = new Map<string, number>();
  const give = (principalKey: string): void => {
    const left = (taken.get(principalKey) ?? 1) - 1;
    if (left === 0) taken.delete(principalKey);
    else taken.set(principalKey, left);
  };
  return {
    take(principalKey) {
      const count = taken.get(principalKey) ?? 0;
      if (count >= slotsPerPrincipalMax) return undefined;
      taken.set(principalKey, count + 1);
      let given = false;
      return () => {
        if (!given) give(principalKey);
        given = true;
      };
    },
  };
}
