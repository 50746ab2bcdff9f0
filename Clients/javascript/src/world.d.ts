import type { Accounts } from './accounts.js'
import type { Clock } from './clock.js'
import type { Duration } from './duration.js'
import type { MailFilter, Message, OutgoingMail, SentMail } from './inbox.js'
import type { Fault, FaultOrder, Outcome, OutcomeDetails } from './orders.js'
import type { Callback } from './person.js'
import type { Apple, Facebook, GitHub, Google, Microsoft, OpenID } from './providers.js'
import type { Criteria, Exchange, Expectation, SignIn, SignInFilter, Verified } from './recording.js'
import type { Scenarios } from './scenarios.js'
import type { Tokens } from './tokens.js'
import type { Understudy } from './understudy.js'

/** The part of Playwright's page or context that `routeScripts` needs. */
export interface RoutedPage {
  route(url: RegExp, handler: (route: any) => Promise<void>): Promise<unknown>
}

/** A sandbox in a daemon, with its own people, codes, tokens, clock, orders, inbox and recording. */
export class World {
  /** `understudy.world(name)` uses this constructor. Tests call that method. */
  constructor(understudy: Understudy, name?: string)
  /** The daemon that holds the world. */
  readonly daemon: Understudy
  readonly name: string
  /** Whether this is the default world, which is that of requests that name no world. */
  readonly isDefault: boolean
  /** The world's URL. A provider's host and path are appended to it. */
  readonly url: string
  /** The URL of the world's control API. */
  readonly controlURL: string
  /** Returns the URL that stands for `https://HOST`: `hostURL('github.com')`. */
  hostURL(host: string): string
  /**
   * Makes a page load the scripts of Sign in with Apple JS, Google Identity Services and Facebook's SDK from this
   * world.
   */
  routeScripts(page: RoutedPage): Promise<void>

  readonly clock: Clock
  readonly accounts: Accounts
  readonly scenarios: Scenarios
  readonly tokens: Tokens
  readonly apple: Apple
  readonly google: Google
  readonly facebook: Facebook
  readonly microsoft: Microsoft
  readonly github: GitHub
  readonly openID: OpenID

  /**
   * Orders how the next matching sign-in ends: on the web (where no page is shown), on a device, or by the device flow.
   */
  order(
    provider: 'apple' | 'github' | 'google' | 'facebook' | 'microsoft' | 'openid' | (string & {}), outcome: 'approve' | 'cancel' | 'error',
    details?: OutcomeDetails
  ): Promise<Outcome>
  /** Orders a fault: `fault({ host: 'appleid.apple.com', path: '/auth/token', error: 'invalid_grant' })`. */
  fault(order: FaultOrder): Promise<Fault>
  /** Lists the endpoints at which faults can be ordered, each with its possible effects and its errors. */
  endpoints(): Promise<{ host?: string; method?: string; path?: string; smtp?: string; fits: string; errors?: string[] }[]>
  /** Lists the outcomes that wait for a sign-in. */
  outcomes(): Promise<Outcome[]>
  /** Lists the faults that wait for a request. */
  faults(): Promise<Fault[]>
  /** Removes all outcomes. */
  removeOutcomes(): Promise<void>
  /** Removes all faults. */
  removeFaults(): Promise<void>

  /**
   * Follows a sign-in from the address to which the app sends the browser. Returns the request that leads back to the
   * app, without sending it. First order what the person does. Throws an `UnderstudyError` with code `page` if the
   * sign-in ends at a page, because the provider refuses or asks the person, and with code `realProvider` if the
   * address is the real provider's.
   */
  follow(url: string): Promise<Callback>

  /**
   * Returns the recorded exchanges, the oldest first. `limit` keeps the latest ones, or with `after` the next ones
   * after the exchange with that ID. `wait` waits until there are `count` of them (by default 1), at most a minute.
   */
  requests(filter?: Criteria & { after?: string | undefined; limit?: number | undefined; wait?: Duration | undefined; count?: number | undefined }): Promise<Exchange[]>
  /** Returns the exchange with this ID, which its answer has in the header `Understudy-Request`. */
  request(id: string): Promise<Exchange>
  /**
   * Returns the sign-ins, each with the person, the steps, how it ended and why. The one with the latest request is the
   * last. `limit` keeps the latest ones, or with `after` the next ones with a request after the one with that ID.
   * `wait` waits until there are `count` of them (by default 1), at most a minute.
   */
  signIns(filter?: SignInFilter & { after?: string | undefined; limit?: number | undefined; wait?: Duration | undefined; count?: number | undefined }): Promise<SignIn[]>
  /** Returns the sign-in to which the request with this ID belongs. */
  signIn(id: string): Promise<SignIn>
  /** Empties the recording. */
  forgetRequests(): Promise<void>
  /** Returns the recording as an HTTP archive. */
  har(): Promise<{ log: { entries: Record<string, unknown>[] } & Record<string, unknown> }>
  /** Returns the refused requests, each with its `diagnosis`, the oldest first. */
  refusals(): Promise<Exchange[]>
  /** Checks the recording. Throws a `VerificationError` if the requests aren't the expected ones. */
  verify(expected: Expectation | Expectation[]): Promise<Verified[]>
  /** Explains a token, a client secret, a code, a nonce or a callback URL, and says what is wrong with it. */
  explain(value: string, details?: { rawNonce?: string | undefined }): Promise<{ kind: string; sound: boolean | null } & Record<string, unknown>>

  /**
   * Returns the messages in the inbox, the oldest first. With `wait`, it waits for a message, at most a minute, and
   * throws an `UnderstudyError` with code `noMail` if none came.
   */
  mail(filter?: MailFilter & { wait?: Duration | undefined }): Promise<Message[]>
  /** Returns the message with this ID. */
  message(id: string): Promise<Message>
  /** Returns the mail's bytes as they were sent, or as a relay has forwarded them. */
  rawMail(id: string, options?: { forwarded?: boolean }): Promise<Uint8Array>
  /** Returns the content of an attachment. The first has the `number` 1. */
  attachment(id: string, number: number): Promise<Uint8Array>
  /** Puts a mail into the inbox, after the same checks as a mail by SMTP. */
  sendMail(mail: OutgoingMail): Promise<SentMail>
  /** Sends a person's reply to a mail. */
  reply(id: string, answer: string | { text?: string; html?: string; from?: string }): Promise<SentMail>
  /** Deletes one message, or all messages. */
  deleteMail(id?: string): Promise<void>

  /** Merges another seed into the world's seed. The world keeps its state. */
  seed(seed: Record<string, unknown>): Promise<void>
  /** Replaces the world's seed, and resets the world to the new one. */
  replaceSeed(seed: Record<string, unknown>): Promise<void>
  /** Returns the world's whole seed, with its keys. */
  currentSeed(): Promise<Record<string, unknown>>
  /** Returns the whole world as a text, with its secrets. It can be stored in a file, or given to `restore`. */
  snapshot(): Promise<string>
  /** Replaces the state of this world with that of a snapshot. */
  restore(snapshot: string): Promise<void>
  /** Resets the world to its seed. */
  reset(): Promise<void>
  /** Deletes the world and its ports. Its next use makes it again. The default world is only reset. */
  delete(): Promise<void>

  /** Returns a tar archive of a Firebase project's users and settings, as `firebase emulators:export` writes them. */
  firebaseExport(project?: string): Promise<Uint8Array>

  /**
   * Returns the address of the world's own port, for clients that take only a host and a port. A daemon has at most
   * 128.
   */
  portURL(): Promise<string>
  /**
   * Returns the world's own port as `connectAuthEmulator` and `FIREBASE_AUTH_EMULATOR_HOST` need it: `127.0.0.1:43123`.
   */
  firebaseEmulatorHost(): Promise<string>
  /**
   * Returns the world's own port for mail. Throws an `UnderstudyError` with code `noSMTP` if the daemon receives no
   * mail.
   */
  smtp(): Promise<{ host: string; port: number }>
  /** Returns the variables that `understudy exec --world` sets, for a program that uses this world. Opens its ports. */
  environment(): Promise<Record<string, string>>

  /** Sends any call of the control API: `call('POST', 'tokens/revocations', { token })`. */
  call(method: string, path: string, body?: unknown): Promise<any>
}
