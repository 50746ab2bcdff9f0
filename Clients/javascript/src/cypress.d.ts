import type { StartOptions } from './understudy.js'

/**
 * Returns the tasks for Cypress's `on('task', understudyTasks())`. They use the daemon at UNDERSTUDY_URL. If the
 * variable isn't set, the first task starts a daemon. All tests share one world: `world`, or the default world.
 */
export function understudyTasks(options?: StartOptions & { world?: string }): {
  /**
   * Calls a method of the world by its name, with arguments: `['clock.advance', '6m']`. Returns `null` for no result.
   */
  understudy(call: [method: string, ...values: unknown[]]): Promise<unknown>
  /** Returns the URL that stands for `https://HOST` in the world, or without a host the world's URL. */
  understudyURL(host?: string | null): Promise<string>
}
