/** The app's `ASAuthorizationAppleIDRequest`. */
export interface AppleRequest {
  /** The App ID. */
  client: string
  scopes?: ('fullName' | 'email')[] | undefined
  /** The value of `request.nonce`: the hash, `noncePair().sha256`. */
  nonce?: string | null | undefined
  state?: string | null | undefined
  /**
   * The account that is signed in on the device. By default it is the one of the ordered outcome, or the seed's first.
   */
  account?: string | null | undefined
}

/** The contents of an `ASAuthorizationAppleIDCredential`. */
export interface AppleCredential {
  user: string
  state?: string
  authorizedScopes: ('fullName' | 'email')[]
  authorizationCode: string
  identityToken: string
  /**
   * The person's address. Like `fullName`, Apple sends it only the first time that the person authorizes the app's
   * team.
   */
  email?: string
  fullName?: { givenName: string; familyName: string }
  /** Apple's estimate of the user: 0 unsupported, 1 unknown, 2 likely real. */
  realUserStatus: 0 | 1 | 2
}

/** An app and a person. `*` stands for all apps or all people. */
export interface AppOfPerson {
  account: string
  client: string
}

/** Apple without the web pages: native sign-ins, notifications, revocations and the private relay. */
export interface Apple {
  /** Signs in as an app on a device does. Throws an `AppleAuthorizationError`, with code 1001 if the person cancels. */
  authorize(request: AppleRequest): Promise<AppleCredential>
  /** Returns what `getCredentialState(forUserID:)` would answer for a credential's `user`. */
  credentialState(of: { client: string; user: string }): Promise<'authorized' | 'revoked' | 'notFound' | 'transferred'>
  /** Makes an event happen, and sends Apple's server-to-server notification of it. Returns the result of sending it. */
  notify(event: AppOfPerson & {
    type: 'consent-revoked' | 'account-deleted' | 'email-disabled' | 'email-enabled'
  }): Promise<{ delivered: boolean; attempts: number; failure?: string } & Record<string, unknown>>
  /** Ends the person's use of Sign in with Apple for the app, as the person can do in their settings. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
  /** Publishes a new signing key, and withdraws the oldest one. */
  rotateKeys(): Promise<{ signing: string; published: string[] }>
  /** Returns what the private relay does with a mail. */
  relay(mail: { from: string; to: string }): Promise<{ forwarded: boolean } & Record<string, unknown>>
}

/** The app's request to the provider's SDK. */
export interface NativeRequest {
  client: string
  account?: string | undefined
  nonce?: string | undefined
  scopes?: string[] | undefined
}

/** Google without the web pages: native sign-ins, security events and revocations. */
export interface Google {
  /** Signs in as Google's SDK on a device does. With `serverClient`, the result has a code for the app's backend. */
  authorize(request: NativeRequest & { serverClient?: string | undefined }): Promise<
    { userID: string; idToken: string; accessToken: string; serverAuthCode?: string } & Record<string, unknown>>
  /** Sends a security event of Cross-Account Protection to the seed's `securityEventsURL`. Returns the result. */
  sendSecurityEvent(event: {
    type: 'sessions-revoked' | 'tokens-revoked' | 'token-revoked' | 'account-disabled' | 'account-enabled' |
      'account-credential-change-required' | 'verification'
    client: string
    /** The account that the event concerns. `token-revoked` and `verification` have none. */
    account?: string | undefined
    /** The revoked token, for `token-revoked`. */
    refreshToken?: string | undefined
    /** The reason, for `account-disabled`. */
    reason?: 'hijacking' | 'bulk-account' | undefined
    /** A text by which the receiver recognizes the event, for `verification`. */
    state?: string | undefined
  }): Promise<{ delivered: boolean; attempts: number; failure?: string; token?: string } & Record<string, unknown>>
  /** Removes the app in the person's settings. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
}

/** Facebook without the web pages: native sign-ins, and removals of apps. */
export interface Facebook {
  /** Signs in as Facebook's SDK on a device does. With `tracking: "limited"`, the result has Limited Login's token. */
  authorize(request: NativeRequest & { tracking?: 'enabled' | 'limited' | undefined }): Promise<{ userID: string } & Record<string, unknown>>
  /** Removes the app in the person's settings. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
}

/** Actions of people in their settings at Microsoft. */
export interface Microsoft {
  /** Removes the app in the person's settings. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
}

/** Actions of people in their settings at GitHub. */
export interface GitHub {
  /** Removes the app in the person's settings, and notifies the app's webhook. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
  /** Signs the person out in all browsers, or in one. */
  logOut(order: { account: string; session?: string | undefined }): Promise<{ sessions: number }>
}

/** Actions of people at the OpenID Connect issuers of the seed. */
export interface OpenID {
  /** Removes the app in the person's settings. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
  /** Signs the person out in all browsers, or in the one with this `sid`. */
  logOut(order: { account: string; issuer: string; session?: string | undefined }): Promise<{ sessions: number } & Record<string, unknown>>
  /** Lists the clients that have registered themselves, the oldest first, at most a thousand. */
  clients(): Promise<{ clientID: string; issuer: string; registered: string; metadata: Record<string, unknown> }[]>
  /** Removes one or all of the clients that have registered themselves. Their codes and tokens become invalid. */
  removeClients(client?: string): Promise<void>
}
