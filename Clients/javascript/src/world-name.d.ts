/**
 * A world's name made from any text, such as a test's, as `understudy world-name` makes it: lower-case letters, digits and
 * single hyphens, at most 63. The same text always gives the same name, and different texts give different ones.
 */
export function worldName(text: string): string
