/** What the daemon, or this package, refuses. */
export class UnderstudyError extends Error {
  constructor(code: string | number, message: string, details?: {
    path?: string; status?: number; answer?: unknown; cause?: unknown
  })
  /**
   * What is wrong, by name: the daemon's, such as `invalidBody`, `noSuchAccount`; or `unreachable` (nothing answers),
   * `unexpectedAnswer` (what answers isn't the daemon), `notStarted`, `noMail`, `noSMTP`, `page` (`follow` ended there).
   */
  readonly code: string | number
  /** Where in the body or the query: `$.times`. */
  readonly path?: string
  /** The status of the answer. */
  readonly status?: number
  /** The whole answer, read as JSON. */
  readonly answer?: unknown
}

/** What `ASAuthorizationController` would tell the app's delegate: an `ASAuthorizationError`. */
export class AppleAuthorizationError extends UnderstudyError {
  constructor(code: number, reason: string, message: string, details?: { domain?: string; status?: number; answer?: unknown })
  static readonly unknown: 1000
  static readonly canceled: 1001
  static readonly invalidResponse: 1002
  static readonly notHandled: 1003
  static readonly failed: 1004
  static readonly notInteractive: 1005
  /** The number of `ASAuthorizationError.Code`. */
  readonly code: number
  /** Its name: `canceled`. */
  readonly reason: string
  /** `com.apple.AuthenticationServices.AuthorizationError` */
  readonly domain: string
}

/** What was expected didn't happen. The message says what came instead. */
export class VerificationError extends UnderstudyError {
  constructor(message: string, expectations: import('./recording.js').Verified[])
  readonly expectations: import('./recording.js').Verified[]
}
