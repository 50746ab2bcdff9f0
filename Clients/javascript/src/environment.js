// These are the variables that `understudy exec` sets for its command.

/// Returns the variables that make a program use a world. Firebase's SDKs take only a host and a port.
export function environment(world, firebaseHost, mail) {
  const { controlToken } = world.daemon
  return {
    UNDERSTUDY_URL: world.url,
    UNDERSTUDY_CONTROL_URL: world.controlURL,
    ...(controlToken ? { UNDERSTUDY_CONTROL_TOKEN: controlToken } : {}),
    ...(mail ? { UNDERSTUDY_SMTP_HOST: mail.host, UNDERSTUDY_SMTP_PORT: String(mail.port) } : {}),
    APPLE_BASE_URL: world.hostURL('appleid.apple.com'),
    GITHUB_BASE_URL: world.hostURL('github.com'),
    GITHUB_API_URL: world.hostURL('api.github.com'),
    GOOGLE_BASE_URL: world.hostURL('accounts.google.com'),
    GOOGLE_TOKEN_URL: world.hostURL('oauth2.googleapis.com/token'),
    FACEBOOK_BASE_URL: world.hostURL('www.facebook.com'),
    FACEBOOK_GRAPH_URL: world.hostURL('graph.facebook.com'),
    MICROSOFT_BASE_URL: world.hostURL('login.microsoftonline.com'),
    MICROSOFT_GRAPH_URL: world.hostURL('graph.microsoft.com'),
    FIREBASE_AUTH_EMULATOR_HOST: firebaseHost
  }
}
