/** The app's `ASAuthorizationAppleIDRequest`. */
export interface AppleRequest {
  /** The App ID. */
  client: string
  scopes?: ('fullName' | 'email')[] | undefined
  /** The value of `request.nonce`: the hash, `noncePair().sha256`. */
  nonce?: string | null | undefined
  state?: string | null | undefined
  /** The account that is signed in on the device; by default the ordered one, or the first. */
  account?: string | null | undefined
}

/** The contents of an `ASAuthorizationAppleIDCredential`. */
export interface AppleCredential {
  user: string
  state?: string
  authorizedScopes: ('fullName' | 'email')[]
  authorizationCode: string
  identityToken: string
  /** The first time that the person authorizes the app's team only, as `fullName`. */
  email?: string
  fullName?: { givenName: string; familyName: string }
  /** 0 unsupported, 1 unknown, 2 likely real. */
  realUserStatus: 0 | 1 | 2
}

/** An app and a person; `*` stands for all apps, or all people. */
export interface AppOfPerson {
  account: string
  client: string
}

/** Apple's side beside the web flow: native sign-ins, notifications, revocations, the private relay. */
export interface Apple {
  /** The native flow, without a device. Throws an `AppleAuthorizationError`, of code 1001 where the person cancels. */
  authorize(request: AppleRequest): Promise<AppleCredential>
  /** The answer of `getCredentialState(forUserID:)` for a credential's `user`. */
  credentialState(of: { client: string; user: string }): Promise<'authorized' | 'revoked' | 'notFound' | 'transferred'>
  /** Makes it happen, and sends Apple's server-to-server notification. Answers with what became of that. */
  notify(event: AppOfPerson & {
    type: 'consent-revoked' | 'account-deleted' | 'email-disabled' | 'email-enabled'
  }): Promise<{ delivered: boolean; attempts: number; failure?: string } & Record<string, unknown>>
  /** The person stops using Apple's sign-in for the app. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
  /** Publishes a new signing key and withdraws the oldest. */
  rotateKeys(): Promise<{ signing: string; published: string[] }>
  /** The private relay's decision about a mail. */
  relay(mail: { from: string; to: string }): Promise<{ forwarded: boolean } & Record<string, unknown>>
}

/** The app's request to the provider's SDK. */
export interface NativeRequest {
  client: string
  account?: string | undefined
  nonce?: string | undefined
  scopes?: string[] | undefined
}

/** Google's side beside the web flow: native sign-ins, security events, revocations. */
export interface Google {
  /** The result of Google's SDK on a device; with `serverClient`, also a code for the app's backend. */
  authorize(request: NativeRequest & { serverClient?: string | undefined }): Promise<
    { userID: string; idToken: string; accessToken: string; serverAuthCode?: string } & Record<string, unknown>>
  /** Sends a security event of Cross-Account Protection to the seed's `securityEventsURL`. Answers with what became of that. */
  sendSecurityEvent(event: {
    type: 'sessions-revoked' | 'tokens-revoked' | 'token-revoked' | 'account-disabled' | 'account-enabled' |
      'account-credential-change-required' | 'verification'
    client: string
    /** To whom it happens; not for `token-revoked` and `verification`. */
    account?: string | undefined
    /** Of `token-revoked`: which token. */
    refreshToken?: string | undefined
    /** Of `account-disabled`: why. */
    reason?: 'hijacking' | 'bulk-account' | undefined
    /** Of `verification`: a text to know it by. */
    state?: string | undefined
  }): Promise<{ delivered: boolean; attempts: number; failure?: string; token?: string } & Record<string, unknown>>
  /** The person removes the app in their settings. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
}

/** Facebook's side beside the web flow: native sign-ins and removals of apps. */
export interface Facebook {
  /** The result of Facebook's SDK on a device; with `tracking: "limited"`, Limited Login's token. */
  authorize(request: NativeRequest & { tracking?: 'enabled' | 'limited' | undefined }): Promise<{ userID: string } & Record<string, unknown>>
  /** The person removes the app in their settings. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
}

/** People's actions in their settings at Microsoft. */
export interface Microsoft {
  /** The person removes the app. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
}

/** People's actions in their settings at GitHub. */
export interface GitHub {
  /** The person revokes the app; its webhook is told. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
  /** The person is signed out of all browsers, or of one. */
  logOut(order: { account: string; session?: string | undefined }): Promise<{ sessions: number }>
}

/** People's actions at the OpenID issuers of the seed. */
export interface OpenID {
  /** The person removes the app in their settings. */
  revoke(order: AppOfPerson): Promise<Record<string, unknown>>
  /** The person is signed out of all browsers, or of the one with this `sid`. */
  logOut(order: { account: string; issuer: string; session?: string | undefined }): Promise<{ sessions: number } & Record<string, unknown>>
  /** The clients that have registered themselves, the oldest first, a thousand at most. */
  clients(): Promise<{ clientID: string; issuer: string; registered: string; metadata: Record<string, unknown> }[]>
  /** Removes a client that has registered itself, or all of them. Their codes and tokens work no more. */
  removeClients(client?: string): Promise<void>
}
