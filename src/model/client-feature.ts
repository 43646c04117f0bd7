/**
 * What an upstream may ask of the client behind a call. `elicitation` is a form, `elicitation_url` a page to open,
 * `sampling_tools` a sampling request that offers tools; none of them covers another.
 */
export const clientFeatures = ["elicitation", "elicitation_url", "sampling", "sampling_tools", "roots"] as const;

export type ClientFeature = (typeof clientFeatures)[number];

/** What a client was asked, by the key of each request: the feature that its answer must fit. */
export type AskedKinds = ReadonlyMap<string, ClientFeature>;
