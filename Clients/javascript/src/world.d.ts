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

/** A sandbox in a daemon: its people, codes, tokens, clock, orders, mail and recording are nobody else's. */
export class World {
  /** Use `understudy.world(name)`. */
  constructor(understudy: Understudy, name?: string)
  /** The daemon in which it is. */
  readonly daemon: Understudy
  readonly name: string
  /** Whether it is the world of requests that name none. */
  readonly isDefault: boolean
  /** The world's URL: a provider's host and path follow. */
  readonly url: string
  /** The URL of the world's control API. */
  readonly controlURL: string
  /** The URL that stands for `https://HOST`: `hostURL('github.com')`. */
  hostURL(host: string): string
  /** Leads the providers' scripts that a page loads to this world: Sign in with Apple JS, Google Identity Services, Facebook's SDK. */
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

  /** Orders the outcome of the next matching authorization: of the web flow, which then shows no page, of the device flow, or of a native sign-in. */
  order(
    provider: 'apple' | 'github' | 'google' | 'facebook' | 'microsoft' | 'openid' | (string & {}), outcome: 'approve' | 'cancel' | 'error',
    details?: OutcomeDetails
  ): Promise<Outcome>
  /** Something goes wrong: `fault({ host: 'appleid.apple.com', path: '/auth/token', error: 'invalid_grant' })`. */
  fault(order: FaultOrder): Promise<Fault>
  /** The endpoints at which faults can be ordered, each with its possible effects and its errors. */
  endpoints(): Promise<{ host?: string; method?: string; path?: string; smtp?: string; fits: string; errors?: string[] }[]>
  /** The outcomes that wait for a sign-in. */
  outcomes(): Promise<Outcome[]>
  /** The faults that wait for a request. */
  faults(): Promise<Fault[]>
  /** Takes all outcomes back. */
  removeOutcomes(): Promise<void>
  /** Takes all faults back. */
  removeFaults(): Promise<void>

  /**
   * Goes where the app sends the browser, and on to where the app gets the answer, which is returned, not requested. Order
   * first what the person does. Throws an `UnderstudyError` of code `page` where it ends at a page: the provider refuses, or asks;
   * of code `realProvider` where the app leads to an address in the Internet.
   */
  follow(url: string): Promise<Callback>

  /**
   * What was requested, in order, all pages. `limit`: the latest so many, or, with `after`, the next so many after the one with
   * that ID. `wait`: until there are `count` of them (1), a minute at most; then what there is.
   */
  requests(filter?: Criteria & { after?: string | undefined; limit?: number | undefined; wait?: Duration | undefined; count?: number | undefined }): Promise<Exchange[]>
  /** The exchange with this ID (an answer's header `Understudy-Request`). */
  request(id: string): Promise<Exchange>
  /**
   * The sign-ins, the most recently active last, with the person, the steps, how each ended and why. `limit`: the latest so many,
   * or, with `after`, the next so many in which something came after the request with that ID. `wait`: until there are `count` of
   * them (1), a minute at most; then what there is.
   */
  signIns(filter?: SignInFilter & { after?: string | undefined; limit?: number | undefined; wait?: Duration | undefined; count?: number | undefined }): Promise<SignIn[]>
  /** The sign-in to which the request with this ID belongs. */
  signIn(id: string): Promise<SignIn>
  /** Empties the recording. */
  forgetRequests(): Promise<void>
  /** The recording as an HTTP archive. */
  har(): Promise<{ log: { entries: Record<string, unknown>[] } & Record<string, unknown> }>
  /** The refused requests, each with its `diagnosis`, the oldest first. */
  refusals(): Promise<Exchange[]>
  /** Throws a `VerificationError` where something else was requested than is expected. */
  verify(expected: Expectation | Expectation[]): Promise<Verified[]>
  /** Explains a token, a client secret, a code, a nonce or a callback URL, and its errors. */
  explain(value: string, details?: { rawNonce?: string | undefined }): Promise<{ kind: string; sound: boolean | null } & Record<string, unknown>>

  /**
   * What lies in the inbox, oldest first. With `wait`, waits for a message, a minute at most, and throws an `UnderstudyError`
   * of code `noMail` when none came.
   */
  mail(filter?: MailFilter & { wait?: Duration | undefined }): Promise<Message[]>
  /** The message with this ID. */
  message(id: string): Promise<Message>
  /** The mail byte for byte as it was sent, or as a relay has forwarded it. */
  rawMail(id: string, options?: { forwarded?: boolean }): Promise<Uint8Array>
  /** The content of an attachment; `number` counts from 1. */
  attachment(id: string, number: number): Promise<Uint8Array>
  /** A mail as if by SMTP. */
  sendMail(mail: OutgoingMail): Promise<SentMail>
  /** The person's answer to a mail. */
  reply(id: string, answer: string | { text?: string; html?: string; from?: string }): Promise<SentMail>
  /** Deletes one message, or all. */
  deleteMail(id?: string): Promise<void>

  /** Merges a seed in; the world goes on with all that it has. */
  seed(seed: Record<string, unknown>): Promise<void>
  /** The world begins afresh from another seed. */
  replaceSeed(seed: Record<string, unknown>): Promise<void>
  /** The world's seed, whole, keys included. */
  currentSeed(): Promise<Record<string, unknown>>
  /** All of the world as a text, secrets included: for `restore`, or for a file. */
  snapshot(): Promise<string>
  /** Such a world in its place. */
  restore(snapshot: string): Promise<void>
  /** The world afresh from its seed. */
  reset(): Promise<void>
  /** Deletes the world, with its ports. Its next use makes it anew. The default one, which stays, is reset. */
  delete(): Promise<void>

  /** A Firebase project's users and settings, as `firebase emulators:export` writes them, in a tar archive; the default one's. */
  firebaseExport(project?: string): Promise<Uint8Array>

  /** The address of a port of the world's own, for what takes a host and a port only. A daemon has 128 of them at most. */
  portURL(): Promise<string>
  /** For `connectAuthEmulator` and `FIREBASE_AUTH_EMULATOR_HOST`: `127.0.0.1:43123`, the world's own port. */
  firebaseEmulatorHost(): Promise<string>
  /** A port of the world's own for mail. Throws `noSMTP` where the daemon takes none. */
  smtp(): Promise<{ host: string; port: number }>
  /** The variables that `understudy exec --world` sets, for a program that is to be in this world. Opens its ports. */
  environment(): Promise<Record<string, string>>

  /** Any call of the control API: `call('POST', 'tokens/revocations', { token })`. */
  call(method: string, path: string, body?: unknown): Promise<any>
}
