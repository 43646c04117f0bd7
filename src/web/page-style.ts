/** The style sheet of all pages; it goes inside a `style` element, so it holds no markup. */
export const pageStyle = `
:root { color-scheme: light dark; font: 100%/1.5 system-ui, sans-serif; }
body { margin: 0; }
main { max-width: 24rem; margin: 10vh auto 2rem; padding: 0 1.25rem; overflow-wrap: anywhere; }
main.wide { max-width: 44rem; margin-top: 4vh; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
label { display: block; margin: 1rem 0 .25rem; }
input:not([type=hidden]) { box-sizing: border-box; width: 100%; padding: .6rem; font: inherit; border: 1px solid #767676; border-radius: .3rem; }
.choices { display: flex; gap: .75rem; margin-top: 1.5rem; }
button { flex: 1; min-height: 2.75rem; font: inherit; border: 1px solid #1a4f8b; border-radius: .3rem; background: #1a4f8b; color: #fff; cursor: pointer; }
button.quiet { background: transparent; color: inherit; border-color: #767676; }
:focus-visible { outline: 3px solid #4d90d9; outline-offset: 2px; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
.card { border: 1px solid #767676; border-radius: .3rem; padding: .75rem 1rem 1rem; margin: 1rem 0; }
.card h3 { margin-top: 0; }
a.go { display: block; box-sizing: border-box; min-height: 2.75rem; padding: .6rem; margin-top: 1rem; text-align: center; border-radius: .3rem; background: #1a4f8b; color: #fff; }
pre { overflow-x: auto; padding: .6rem .75rem; border: 1px solid #767676; border-radius: .3rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.problem { padding: .5rem .75rem; border-left: 4px solid #b3261e; }
.caution, .detail { font-size: .875rem; }
`;
