/** A refusal by the daemon or by this package. */
export class UnderstudyError extends Error {
  constructor(code: string | number, message: string, details?: {
    path?: string | undefined; status?: number | undefined; answer?: unknown; cause?: unknown; call?: string | undefined
  })
  /**
   * What is wrong, by name: the daemon's, such as `invalidBody`, `noSuchAccount`; or `unreachable` (nothing answers),
   * `unexpectedAnswer` (what answers isn't the daemon), `invalidURL`, `invalidToken`, `notStarted`, `noMail`, `noSMTP`, `page` (`follow`
   * ended there), `realProvider` (`follow` was to go to one).
   */
  readonly code: string | number
  /** The place in the body or the query: `$.times`. */
  readonly path?: string
  /** The status of the answer. */
  readonly status?: number
  /** The method and the path below `/_understudy/v1/`: `POST faults`. */
  readonly call?: string
  /** The whole answer, read as JSON. */
  readonly answer?: unknown
}

/** The `ASAuthorizationError` that `ASAuthorizationController` would pass to the app's delegate. */
export class AppleAuthorizationError extends UnderstudyError {
  constructor(code: number, codeName: string, message: string, details?: { domain?: string; status?: number; answer?: unknown; call?: string })
  static readonly unknown: 1000
  static readonly canceled: 1001
  static readonly invalidResponse: 1002
  static readonly notHandled: 1003
  static readonly failed: 1004
  static readonly notInteractive: 1005
  /** The number of `ASAuthorizationError.Code`. */
  readonly code: number
  /** The error's name: `canceled`. */
  readonly codeName: string
  /** `com.apple.AuthenticationServices.AuthorizationError` */
  readonly domain: string
}

/** An expectation that wasn't met. The message lists the requests that came instead. */
export class VerificationError extends UnderstudyError {
  constructor(message: string, expectations: import('./recording.js').Verified[])
  readonly expectations: import('./recording.js').Verified[]
}
