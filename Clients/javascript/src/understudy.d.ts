import type { Criteria, Exchange } from './recording.js'
import type { World } from './world.js'

/** Options for starting a daemon. */
export interface StartOptions {
  /** The program; UNDERSTUDY_BINARY, or `understudy` on the PATH, by default. */
  binary?: string | undefined
  /** Seeds: paths of files and folders, or values. The built-in one by default. */
  seed?: string | Record<string, unknown> | (string | Record<string, unknown>)[] | undefined
  /** The token that callers of the control API must send; UNDERSTUDY_CONTROL_TOKEN by default. */
  controlToken?: string | undefined
  /** Further options of `understudy serve`: `['--scenario', 'provider-outage']`. */
  arguments?: string[] | undefined
  /** Further variables of its environment. */
  environment?: Record<string, string> | undefined
}

/** A daemon. */
export class Understudy {
  /** Starts a daemon on a free port, mail on another. It ends by `stop`, and with this process however that ends. */
  static start(options?: StartOptions): Promise<Understudy>
  /**
   * A daemon that runs: at `url`, UNDERSTUDY_URL or http://localhost:9099. One that ends with `/~NAME` makes that world the
   * default one.
   */
  static connect(url?: string, options?: { controlToken?: string | undefined }): Promise<Understudy>
  /** The daemon at UNDERSTUDY_URL; where the variable isn't set, starts one. */
  static startOrConnect(options?: StartOptions): Promise<Understudy>
  readonly url: string
  readonly version: string
  /** The token that callers of the control API send. */
  readonly controlToken?: string
  /** The name of the default world, where the address says one. */
  readonly defaultWorld?: string
  /** The last of what a daemon that was started here has logged. */
  readonly log: string
  /**
   * A world. It is made when it is first used. A text that can't be a name, such as a test's title, becomes one as by
   * `worldName`. Without a name, the world of requests that name none.
   */
  world(name?: string): World
  /** The daemon's health: its version, and its memory in use. Throws an `UnderstudyError` of status 503 while it can't be used. */
  health(): Promise<{ status: string; version: string; worlds?: number } & Record<string, unknown>>
  /** The worlds that there are. */
  worlds(): Promise<{ name: string; idleSeconds: number; requests: number; url?: string; smtp?: string }[]>
  /** The exchanges of all worlds, each with its `world`. `world` narrows it down: `*` stands for any characters. */
  requests(filter?: Criteria & { world?: string; after?: string; limit?: number }): Promise<(Exchange & { world: string; gone?: boolean })[]>
  /** Empties the recordings of all worlds whose name fits, and forgets what those that are gone had refused. */
  forgetRequests(world?: string): Promise<void>
  /** Ends a daemon that was started here, and waits until it has ended. */
  stop(): Promise<void>
}
