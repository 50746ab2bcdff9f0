import type { StartOptions } from './understudy.js'

/**
 * For Cypress's `on('task', understudyTasks())`. The daemon is the one at UNDERSTUDY_URL; where the variable isn't set, one is
 * started with the first task. All tests share a world: `world`, or the default one.
 */
export function understudyTasks(options?: StartOptions & { world?: string }): {
  /** A method of the world by its name, and what it is given: `['clock.advance', '6m']`. `null` where it answers nothing. */
  understudy(call: [method: string, ...values: unknown[]]): Promise<unknown>
  /** The URL that stands for `https://HOST` in the world; without a host, the world's URL. */
  understudyURL(host?: string | null): Promise<string>
}
