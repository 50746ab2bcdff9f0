import type { Duration } from './duration.js'
import type { Tampering } from './tokens.js'

/** What the next matching authorization does, without a page. */
export interface OutcomeDetails {
  /** Which client's; any by default. */
  client?: string
  /** Who signs in. */
  account?: string
  /** The error's name, with `"error"`. */
  error?: string
  /** What the person chooses on the page: to share the address, the name as edited, the scopes that are granted. */
  shareEmail?: boolean
  name?: { given?: string; family?: string }
  scopes?: string[]
  /** How many authorizations it holds for: 1 by default; `null` or `Infinity` is for ever. */
  times?: number | null
}

/** Something that was ordered, as the daemon understood it. */
export interface Ordered {
  id: string
  /** Takes it back. Answers whether it was still waiting: `false` where it has been carried out in full. */
  withdraw(): Promise<boolean>
}

/** An outcome that is ordered. */
export interface Outcome extends Ordered, OutcomeDetails {
  provider: string
  outcome: 'approve' | 'cancel' | 'error'
}

/** Which requests, or which mail (`smtp`), something goes wrong at. What is left out matches everything. */
export interface FaultMatch {
  /** The provider's host; `*` stands for any characters, in `path`, too. */
  host?: string
  path?: string
  method?: string
  client?: string
  /** Whose ID tokens the endpoint gives out. */
  tokensOf?: string
  /** Fields of the query, the form or the JSON body. */
  fields?: Record<string, string>
  smtp?: 'CONNECT' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'MESSAGE'
  from?: string
  to?: string
}

/** What happens. docs/orders.md says at which endpoints. */
export interface FaultEffect {
  /** An answer in place of the endpoint's. */
  status?: number
  headers?: Record<string, string>
  body?: unknown
  /** Answers later. */
  delay?: Duration
  disconnect?: boolean | 'beforeHeaders' | 'midBody'
  /** The endpoint's own error, in its own form, with a description in place of the usual one. */
  error?: string
  description?: string
  /** What is broken in tokens that are minted. */
  token?: Tampering
  rotateKeys?: boolean | 'keep' | 'drop'
  jwks?: 'empty' | 'stale'
  malformedJSON?: boolean
  state?: 'missing' | 'wrong'
  code?: 'used'
  /** For mail: another reply, a mail that is lost, or one that comes back. */
  reply?: { code: number; status?: string; text?: string }
  lose?: boolean
  bounce?: { after?: string; code?: number; status?: string; text?: string }
}

/** What goes wrong, where, and how often. */
export interface FaultOrder extends FaultMatch, FaultEffect {
  /** How many matching requests go by first. */
  after?: number
  /** How many requests it holds for: 1 by default; `null` or `Infinity` is for ever. */
  times?: number | null
  /** From 0 to 1, drawn from the world's generator. */
  probability?: number
}

/** A fault that is ordered, how many requests have matched it, and at how many it has taken effect. */
export interface Fault extends Ordered {
  match: FaultMatch
  effect: FaultEffect
  after: number
  times: number | null
  probability: number
  seen: number
  done: number
}
