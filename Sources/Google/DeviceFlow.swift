import EmulatorCore
import HTTPServer
import JSON
import OAuth
import Time
import Worlds

// POST https://oauth2.googleapis.com/device/code, the page https://www.google.com/device, and polls at the token endpoint
//
// Quirks: the page's address is called verification_url, not verification_uri. Polls are answered with 428 while no
// decision was made, and with 403 if they are early or the person cancelled. Only a few scopes may be requested.

extension GoogleProvider {
    static let deviceHost = "www.google.com"
    static let devicePath = "/device"

    /// The name of Google's device flow in a table of device codes that several providers share.
    private static let realm = issuer
    private static let pollInterval = TimeSpan.seconds(5)

    /// The scopes that Google allows in the device flow.
    private static let deviceScopes: Set<String> = Set(
        GoogleScopes(["openid", "email", "profile"]).names
            + ["drive.appdata", "drive.file", "youtube", "youtube.readonly"].map {
                "https://www.googleapis.com/auth/\($0)"
            })

    func deviceCode(_ exchange: Exchange) throws -> Response {
        do {
            let form = Form(fields: exchange.request.bodyForm.fields + exchange.request.queryForm.fields)
            let client = try deviceClient(exchange, form)
            let asked = GoogleScopes(text: form["scope"] ?? "")
            guard !asked.names.isEmpty else { throw GoogleError.missing("scope") }
            if let other = asked.names.first(where: { !GoogleProvider.deviceScopes.contains($0) }) {
                throw GoogleError(
                    "invalid_scope", "Invalid device flow scope: \(other)",
                    Diagnosis(
                        received: "scope \(Diagnosis.quote(other))",
                        expected: GoogleProvider.deviceScopes.sorted().joined(separator: ", "),
                        "the device flow doesn't allow this scope"))
            }
            let device = try exchange.world.update { tables in
                tables.beginDevice(
                    at: GoogleProvider.realm, client: client.id, scopes: asked.withSignIn.names,
                    lifetime: settings.deviceCodeLifetime, interval: GoogleProvider.pollInterval)
            }
            let page = exchange.address.base(of: GoogleProvider.deviceHost) + GoogleProvider.devicePath
            return GoogleProvider.json([
                "device_code": .string(device.key), "user_code": .string(device.userCode),
                "expires_in": .integer(settings.deviceCodeLifetime.seconds),
                "interval": .integer(device.interval.seconds), "verification_url": .string(page),
            ])
        } catch let error as GoogleError { return error.jsonResponse }
    }

    /// Returns the client that starts the device flow. Google's endpoint for device codes requires no client secret.
    private func deviceClient(_ exchange: Exchange, _ form: Form) throws(GoogleError) -> GoogleClient {
        let id = form["client_id"] ?? ""
        guard !id.isEmpty else {
            throw GoogleError.missing("client_id", exchange.request.unreadBody)
        }
        let client = try client(named: id)
        guard client.type == .device else {
            throw GoogleError(
                "invalid_client",
                "Only clients of type 'TVs and Limited Input devices' can use the OAuth 2.0 flow for TV and Limited-Input Device "
                    + "Applications. Please create and use an appropriate client.", status: 401,
                Diagnosis(
                    "the client isn't of type device: set \"type\": \"device\" for \"\(id)\" in the seed, or use another client"
                ))
        }
        return client
    }

    /// Throws the token endpoint's error if a client may not use the device flow, because its type isn't `device`.
    func checkDeviceFlow(of client: GoogleClient) throws(GoogleError) {
        guard client.type != .device else { return }
        throw GoogleError(
            "invalid_client", "Invalid client type.", status: 401,
            Diagnosis(
                "the client \"\(client.id)\" is of type \(client.type.rawValue): the device flow is only for clients of type device"
            ))
    }

    // MARK: - Polls

    func poll(
        _ code: String, by client: GoogleClient, _ exchange: Exchange, in tables: inout Transaction
    ) -> Result<(account: Account, scopes: [String]), DeviceAuthorization.Failure> {
        tables.poll(
            code, by: client, client.interaction, at: GoogleProvider.realm, of: name, exchange
        ) { device, outcome in
            let granted = GoogleScopes(device.scopes).granted(outcome?.scopes).names
            return granted.isEmpty ? nil : granted
        }
    }

    /// Returns Google's error for a device's failed poll.
    static func deviceRefusal(_ refusal: OAuthRefusal) -> GoogleError {
        switch refusal.name {
        case "authorization_pending":
            GoogleError(refusal.name, "Precondition Required", status: 428, refusal.diagnosis)
        case "slow_down", "access_denied": GoogleError(refusal.name, "Forbidden", status: 403, refusal.diagnosis)
        case "expired_token": GoogleError(refusal.name, nil, refusal.diagnosis)
        default: GoogleError("invalid_grant", "Malformed device code.", refusal.diagnosis)
        }
    }

    // MARK: - The page

    var devicePages: DevicePages {
        DevicePages(
            PersonPages(.google, .google, host: GoogleProvider.deviceHost, path: GoogleProvider.devicePath),
            realm: GoogleProvider.realm
        ) { id in
            clients[id]?.name
        } descriptions: { scopes in
            GoogleScopes(scopes).descriptions
        }
    }
}
