/**
 * Makes a world's name from any text, such as a test's title, as `understudy world-name` does: at most 63 lower-case
 * letters, digits and single hyphens. The same text always gives the same name, and different texts give different
 * names.
 */
export function worldName(text: string): string
