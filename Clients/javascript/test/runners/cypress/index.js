// A stand-in for Cypress, as far as docs.test.js needs it.
export const defineConfig = config => config
