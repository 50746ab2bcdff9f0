// What calls throw. The words are the daemon's.

export class UnderstudyError extends Error {
  constructor(code, message, { path, status, answer, cause } = {}) {
    super(path && path !== '$' ? `${path}: ${message}` : message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
    this.path = path
    this.status = status
    Object.defineProperty(this, 'answer', { value: answer })
  }
}

/// https://developer.apple.com/documentation/authenticationservices/asauthorizationerror-swift.struct/code
export class AppleAuthorizationError extends UnderstudyError {
  static unknown = 1000
  static canceled = 1001
  static invalidResponse = 1002
  static notHandled = 1003
  static failed = 1004
  static notInteractive = 1005

  constructor(code, reason, message, { domain, ...details } = {}) {
    super(code, message, details)
    this.reason = reason
    this.domain = domain
  }
}

export class VerificationError extends UnderstudyError {
  constructor(message, expectations) {
    super('unmet', message, { status: 409 })
    this.expectations = expectations
  }
}

/// The error that an answer of the control API stands for.
export function errorOf(status, text) {
  let answer
  try { answer = JSON.parse(text) } catch { /* Not the daemon's: something between has answered. */ }
  const error = answer?.error
  if (typeof error !== 'object' || error === null) {
    return new UnderstudyError('unexpectedAnswer', `status ${status}: ${text.slice(0, 500)}`, { status })
  }
  const { code, message, name, domain, path, faults = [] } = error
  if (domain !== undefined) return new AppleAuthorizationError(code, name, message, { domain, status, answer })
  // The first is the error itself.
  const others = faults.slice(1).map(fault => `\n${fault.path}: ${fault.message}`)
  return new UnderstudyError(code, message + others.join(''), { path, status, answer })
}
