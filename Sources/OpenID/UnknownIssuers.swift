import EmulatorCore
import HTTPServer
import JSON
import OAuth

// Issuers may be unknown to the seed. With "unknownIssuers": "accept" they are created by their first use, as at
// https://github.com/navikt/mock-oauth2-server. Otherwise, the refusal lists the known ones.

/// An issuer that no seed has, and that was created by its first use.
struct TakenIssuer: Row {
    static let table = Table<TakenIssuer>("openid.takenIssuer")
    /// The most such issuers of a world.
    static let limit = 100

    /// The issuer's id.
    let key: String
}

extension OpenIDProvider {
    package func takenOnTrust(in world: World) -> [String] {
        world.read { $0.rows(TakenIssuer.self, limit: TakenIssuer.limit) }.map { row in
            "issuer \(Diagnosis.quote(row.key)) of OpenID Connect, which no seed has, with any client"
        }
    }

    /// Returns the issuer with this id: the seed's, or one that this world has created.
    func issuer(_ id: String, in world: World) -> Issuer? {
        if let known = issuers.first(where: { $0.id == id }) { return known }
        guard takesUnknown, world.read({ $0.find(TakenIssuer.self, id) }) != nil else { return nil }
        return .takenOnTrust(id)
    }

    /// Returns the issuer with this key in rows.
    func issuer(ofRealm realm: some StringProtocol, in world: World) -> Issuer? {
        guard realm.hasPrefix("\(name).") else { return nil }
        return issuer(String(realm.dropFirst(name.utf8.count + 1)), in: world)
    }

    /// The endpoints of all issuers that no seed has.
    var endpointsOnTrust: [Endpoint] {
        guard takesUnknown else { return [] }
        return Issuer.takenOnTrust(":issuer").endpoints { [self] exchange in
            let id = exchange.parameters["issuer"] ?? ""
            guard TextRule.identifier.holds(id), id.utf8.count <= 64, !id.allSatisfy({ $0 == "." }),
                !issuers.contains(where: { $0.id == id })
            else {
                throw OAuthRefusal(
                    "invalid_request", status: 404,
                    Diagnosis(
                        received: "the issuer \(Diagnosis.quote(id))",
                        expected: "1 to 64 letters, digits, -, _ and ., and no seeded issuer's id",
                        "name the issuer otherwise"))
            }
            if exchange.world.read({ $0.find(TakenIssuer.self, id) }) == nil { try take(id, in: exchange.world) }
            return .takenOnTrust(id)
        }
    }

    private func take(_ id: String, in world: World) throws {
        let isTaken = try world.update { tables in
            guard tables.find(TakenIssuer.self, id) == nil else { return true }
            guard tables.count(TakenIssuer.self) < TakenIssuer.limit else { return false }
            tables.put(TakenIssuer(key: id))
            return true
        }
        guard isTaken else {
            throw OAuthRefusal(
                "temporarily_unavailable",
                Diagnosis(
                    "this world has taken \(TakenIssuer.limit) issuers that no seed has, which is the limit: reset it, or use another"
                ))
        }
        world.noteChange()
        world.budget.notices.tellOnce("OpenID Connect: taken on trust: issuer \(Diagnosis.quote(id))")
    }
}

extension OpenIDProvider: ExplainsOwnAddresses {
    /// The most issuers in a refusal.
    private static let namedIssuers = 5

    package func unserved(_ exchange: Exchange) -> Response? {
        let path = exchange.address.path
        let segments = path.split(separator: "/")
        let isShort = segments.first.map { "/\($0)" == Issuer.shortPrefix } ?? false
        // Keycloak's issuers are below /realms.
        let isMeant =
            isShort || segments.first == "realms" || path.hasSuffix("/.well-known/openid-configuration")
            || HostAlias.metadata.contains { path.hasPrefix($0) }
        guard isMeant else { return nil }
        let own = exchange.address.ownBase
        let names = issuers.prefix(OpenIDProvider.namedIssuers).map { "\($0.id): \(own)\($0.alias.prefix)" }
        let more = issuers.count - names.count
        let id = isShort && segments.count > 1 ? String(segments[1]) : nil
        let known = id.flatMap { id in issuers.first { $0.id == id } }
        let advice: String
        if known != nil {
            advice = "nothing is served at this path: the discovery document lists the endpoints"
        } else {
            var member = #"{"id":"\#(id.flatMap { TextRule.identifier.holds($0) ? $0 : nil } ?? "mine")""#
            if let url = OpenIDProvider.issuer(of: path), !isShort { member += #","issuer":"\#(own)\#(url)""# }
            advice =
                "\(id.map { "no issuer \(Diagnosis.quote($0)) is seeded\(Spelling.hint($0, among: issuers.map(\.id)))" } ?? "no issuer is at this path"); "
                + #"add one: POST \#(own)\#(Endpoint.controlRoot)/seed {"openid":{"issuers":[\#(member),"clients":[...]}]}}, "#
                + #"or take any below \#(Issuer.shortPrefix): "unknownIssuers": "accept""#
        }
        let diagnosis = Diagnosis(
            received: Diagnosis.quote("\(exchange.request.method) \(path)"),
            expected: names.isEmpty
                ? "an issuer, of which there is none"
                : "one of the issuers \(names.joined(separator: ", "))\(more > 0 ? " and \(more) more" : "")", advice)
        return ControlAnswer.error(404, "noSuchIssuer", diagnosis.line).diagnosed(diagnosis)
    }

    /// Returns the issuer's path, from the address of a discovery document or of Keycloak's endpoint.
    private static func issuer(of path: String) -> String? {
        for mark in ["/.well-known/openid-configuration", "/protocol/openid-connect/"] {
            if let range = path.firstRange(of: mark) { return String(path[..<range.lowerBound]) }
        }
        return HostAlias.metadata.first { path.hasPrefix($0) }.map { String(path.dropFirst($0.count)) }
    }
}
