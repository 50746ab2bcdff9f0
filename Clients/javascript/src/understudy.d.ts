import type { Criteria, Exchange } from './recording.js'
import type { World } from './world.js'

/** Options for starting a daemon. */
export interface StartOptions {
  /** The program's path. By default it is the value of UNDERSTUDY_BINARY, or `understudy` on the PATH. */
  binary?: string | undefined
  /** The seeds: paths of files and folders, or values. By default it is the built-in seed. */
  seed?: string | Record<string, unknown> | (string | Record<string, unknown>)[] | undefined
  /** The token that callers of the control API must send. By default it is the value of UNDERSTUDY_CONTROL_TOKEN. */
  controlToken?: string | undefined
  /** Further options of `understudy serve`: `['--scenario', 'provider-outage']`. */
  arguments?: string[] | undefined
  /** Further environment variables for the daemon. */
  environment?: Record<string, string> | undefined
}

/** A daemon. */
export class Understudy {
  /** Starts a daemon on a free port, with another for mail. `stop` ends it, and so does the end of this process. */
  static start(options?: StartOptions): Promise<Understudy>
  /**
   * Connects to a daemon that runs at `url`, at UNDERSTUDY_URL or at http://localhost:9099. If the URL ends with
   * `/~NAME`, that world is the default one.
   */
  static connect(url?: string, options?: { controlToken?: string | undefined }): Promise<Understudy>
  /** Connects to the daemon at UNDERSTUDY_URL, or starts a daemon if the variable isn't set. */
  static startOrConnect(options?: StartOptions): Promise<Understudy>
  readonly url: string
  readonly version: string
  /** The token that callers of the control API send. */
  readonly controlToken?: string
  /** The name of the default world, if the address names one. */
  readonly defaultWorld?: string
  /** The end of the log of a daemon that was started here. */
  readonly log: string
  /**
   * Returns a world, which the daemon makes when it is first used. A text that can't be a world's name, such as a
   * test's title, is changed into one by `worldName`. Without a name, it is the default world.
   */
  world(name?: string): World
  /**
   * Returns the daemon's version and memory in use. Throws an `UnderstudyError` with status 503 while it isn't ready.
   */
  health(): Promise<{ status: string; version: string; worlds?: number } & Record<string, unknown>>
  /** Lists the daemon's worlds. */
  worlds(): Promise<{ name: string; idleSeconds: number; requests: number; url?: string; smtp?: string }[]>
  /** Returns the exchanges of all worlds whose name fits `world`, where `*` stands for any characters. */
  requests(filter?: Criteria & { world?: string; after?: string; limit?: number }): Promise<(Exchange & { world: string; gone?: boolean })[]>
  /** Empties the recordings of all worlds whose name fits, and forgets the refused requests of deleted worlds. */
  forgetRequests(world?: string): Promise<void>
  /** Ends a daemon that was started here, and waits until it has ended. */
  stop(): Promise<void>
}
