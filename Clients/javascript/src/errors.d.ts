/** An error of a call: the daemon or this package has refused it, or nothing has answered. */
export class UnderstudyError extends Error {
  constructor(code: string | number, message: string, details?: {
    path?: string | undefined; status?: number | undefined; answer?: unknown; cause?: unknown; call?: string | undefined
  })
  /**
   * The error's name. The daemon's names are, for example, `invalidBody` and `noSuchAccount`. This package's are
   * `unreachable` (nothing answers), `unexpectedAnswer` (the answer isn't the daemon's), `invalidURL`, `invalidToken`,
   * `notStarted`, `noMail`, `noSMTP`, `page` (`follow` ended at a page) and `realProvider` (`follow` got the real
   * provider's address).
   */
  readonly code: string | number
  /** The place in the body or the query of the call, such as `$.times`. */
  readonly path?: string
  /** The status of the answer. */
  readonly status?: number
  /** The method and the path below `/_understudy/v1/` of the call, such as `POST faults`. */
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
  /** The error's name, such as `canceled`. */
  readonly codeName: string
  /** The error's domain, `com.apple.AuthenticationServices.AuthorizationError`. */
  readonly domain: string
}

/** An expectation that wasn't met. The message lists the requests that came instead. */
export class VerificationError extends UnderstudyError {
  constructor(message: string, expectations: import('./recording.js').Verified[])
  readonly expectations: import('./recording.js').Verified[]
}
