/** Which exchanges with providers. `*` stands for any characters in `host` and `path`. */
export interface Criteria {
  host?: string | undefined
  path?: string | undefined
  method?: string | undefined
  /** The client ID; at Firebase, the project. */
  client?: string | undefined
  /** `401`, or any `"4xx"`. */
  status?: number | string | undefined
  /** The sign-in that it belongs to. */
  flow?: string | undefined
  /** `true`: those with a diagnosis; `false`: the others. */
  refused?: boolean | undefined
}

/** What should have happened: once or more, unless `times`, `atLeast` or `atMost` say otherwise. */
export interface Expectation extends Criteria {
  /** Fields of the query, the form or the JSON body. */
  fields?: Record<string, string> | undefined
  times?: number | undefined
  atLeast?: number | undefined
  atMost?: number | undefined
}

/** An expectation, and the IDs of the exchanges that fit it. */
export interface Verified {
  expected: Expectation
  met: boolean
  found: number
  matched: string[]
  message?: string
  /** Those that came nearest. */
  near?: { id: string; differences: string[] }[]
}

/** A request to a provider and its answer. docs/recording.md says more. */
export interface Exchange {
  id: string
  flow: string
  /** The exchange for which the daemon sent it itself. */
  parent?: string
  time: string
  durationMilliseconds: number
  host?: string
  path: string
  method: string
  client?: string
  status: number
  /** Why it was refused. */
  diagnosis?: string
  /** What surprises in an answer that refuses nothing. */
  note?: string
  /** The fault that was ordered. */
  fault?: string
  request: RecordedMessage & { target: string }
  response: RecordedMessage & { disconnected?: 'beforeHeaders' | 'midBody' }
  /** JSON Web Tokens in it, decoded. */
  tokens?: { place: string; header: Record<string, unknown>; claims: Record<string, unknown>; signed: boolean }[]
  [member: string]: unknown
}

/** A request's or an answer's header and body; `bodyBase64` where that isn't text. */
export interface RecordedMessage {
  headers: { name: string; value: string }[]
  body?: string
  bodyBase64?: string
}
