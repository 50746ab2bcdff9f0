// This is a stand-in for Cypress with the functions that docs.test.js needs.
export const defineConfig = config => config
