/** The version this gateway reports to peers. A test holds it to `package.json`. */
export const version = "0.1.0";
