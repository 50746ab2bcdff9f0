import type { Duration } from './duration.js'
import type { Tampering } from './tokens.js'

/** An outcome: how the next matching sign-in ends. It then shows no page. */
export interface OutcomeDetails {
  /** The ID of the client whose sign-ins the outcome is for. By default it is for all clients. */
  client?: string | undefined
  /** The ID of the account that signs in. */
  account?: string | undefined
  /** The error's name, if the outcome is `"error"`. */
  error?: string | undefined
  /** The person's choices: whether to share the address, the changed name, and the granted scopes. */
  shareEmail?: boolean | undefined
  name?: { given?: string; family?: string } | undefined
  scopes?: string[] | undefined
  /** The number of sign-ins to which it applies. By default it is 1, and `null` or `Infinity` stands for all. */
  times?: number | null | undefined
}

/** An order, an outcome or a fault, with the members that the daemon sent. */
export interface Ordered {
  id: string
  /** Removes the order. Returns `true` if it was still waiting, and `false` if it has been carried out in full. */
  remove(): Promise<boolean>
}

/** An ordered outcome. */
export interface Outcome extends Ordered, OutcomeDetails {
  provider: string
  outcome: 'approve' | 'cancel' | 'error'
}

/** The requests, or with `smtp` the mails, to which a fault applies. A missing member matches everything. */
export interface FaultMatch {
  /** The provider's host. `*` in it or in `path` stands for any characters. */
  host?: string | undefined
  path?: string | undefined
  method?: string | undefined
  client?: string | undefined
  /** The owner of the ID tokens that the endpoint issues. */
  tokensOf?: string | undefined
  /** Fields of the query, the form or the JSON body. */
  fields?: Record<string, string> | undefined
  smtp?: 'CONNECT' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'MESSAGE' | undefined
  from?: string | undefined
  to?: string | undefined
}

/** The effect of a fault. docs/orders.md lists the endpoints at which it can be ordered. */
export interface FaultEffect {
  /** The answer that replaces the endpoint's. */
  status?: number | undefined
  headers?: Record<string, string> | undefined
  body?: unknown
  /** The time by which the answer is late. */
  delay?: Duration | undefined
  disconnect?: boolean | 'beforeHeaders' | 'midBody' | undefined
  /** One of the endpoint's errors, in the endpoint's format, with a description that replaces the usual one. */
  error?: string | undefined
  description?: string | undefined
  /** New values of members of the JSON answer. `null` removes a member. */
  response?: Record<string, unknown> | undefined
  /** The changes that break minted tokens. */
  token?: Tampering | undefined
  rotateKeys?: boolean | 'keep' | 'drop' | undefined
  jwks?: 'empty' | 'stale' | undefined
  shuffle?: boolean | undefined
  malformedJSON?: boolean | undefined
  state?: 'missing' | 'wrong' | undefined
  code?: 'used' | undefined
  /** The effect on mail: another reply, or the loss of the mail. */
  reply?: { code: number; status?: string; text?: string } | undefined
  lose?: boolean | undefined
}

/** A fault: its effect, the requests to which it applies, and how often. */
export interface FaultOrder extends FaultMatch, FaultEffect {
  /** The number of matching requests that are answered normally first. */
  after?: number | undefined
  /** The number of requests to which it then applies. By default it is 1, and `null` or `Infinity` stands for all. */
  times?: number | null | undefined
  /** The probability, from 0 to 1, that it applies to a request. The world's random generator decides. */
  probability?: number | undefined
}

/** An ordered fault, with the number of requests that have matched it, and of those at which it has taken effect. */
export interface Fault extends Ordered {
  match: FaultMatch
  effect: FaultEffect
  after: number
  times: number | null
  probability: number
  seen: number
  done: number
}
