import HTTPServer
import JSON
import Worlds

// The dispatcher's own refusals, for addresses without a provider that has words for them.

extension Dispatcher {
    func notAllowed(_ request: Request, _ methods: [String], cors: Endpoint.CORS) -> Response {
        let allow = (name: "Allow", value: methods.joined(separator: ", "))
        guard request.method == "OPTIONS" else {
            let diagnosis = Diagnosis(
                received: "\(request.method)", expected: allow.value, "use one of the expected HTTP methods")
            var response = Dispatcher.problem(405, "methodNotAllowed", diagnosis)
            response.headers.append(allow)
            return response
        }
        var response = Response(status: 204, headers: [allow])
        if cors != .none, let origin = request.header("Origin") {
            response.headers += Endpoint.corsHeaders(origin)
            response.headers += [
                (name: "Access-Control-Allow-Methods", value: allow.value),
                (name: "Access-Control-Allow-Headers", value: request.header("Access-Control-Request-Headers") ?? "*"),
                (name: "Access-Control-Max-Age", value: "3600"),
            ]
            // A page at a public address must ask before it may reach a private one, such as this machine.
            // https://wicg.github.io/private-network-access/
            if request.header("Access-Control-Request-Private-Network") == "true" {
                response.headers.append((name: "Access-Control-Allow-Private-Network", value: "true"))
            }
        }
        return response
    }

    /// Names the headers `Understudy-…` in `Access-Control-Expose-Headers`, so that scripts of other origins that may
    /// read the response may also read these headers.
    static func expose(in response: inout Response) {
        guard response.header("Access-Control-Allow-Origin") != nil else { return }
        let own = "\(Diagnosis.headerName), \(Evidence.headerName), \(Note.headerName), \(requestHeader)"
        let name = "Access-Control-Expose-Headers"
        guard let place = response.headers.firstIndex(where: { $0.name == name }) else {
            return response.headers.append((name: name, value: own))
        }
        response.headers[place].value += ", \(own)"
    }

    /// Returns the response to a request for an address at which nothing is served. `hint` names the address that may
    /// have been meant.
    func notFound(_ request: Request, _ address: Address, hint: String) -> Response {
        if address.host == nil, address.path.hasPrefix("\(Endpoint.controlRoot)/") {
            return noSuchCall(request, address)
        }
        let place = address.host.map { "\($0)\(address.path)" } ?? address.path
        let known =
            address.host == nil && hint.isEmpty
            ? "a path that begins with one of: \(endpoints.hostNames.joined(separator: ", ")), oidc/ISSUER, ~WORLD"
            : nil
        let diagnosis = Diagnosis(
            received: Diagnosis.quote("\(request.method) \(place)"), expected: known,
            "nothing is served at this address\(hint)")
        return Dispatcher.problem(404, "notFound", diagnosis)
    }

    private func noSuchCall(_ request: Request, _ address: Address) -> Response {
        let root = "\(Endpoint.controlRoot)/"
        let calls = endpoints.ownPaths.filter { $0.hasPrefix(root) }.map { String($0.dropFirst(root.count)) }
        let call = String(address.path.dropFirst(root.count))
        let advice = "the control API has no such call\(Spelling.hint(call, among: calls)); GET \(root) lists all calls"
        return Dispatcher.problem(
            404, "noSuchCall", Diagnosis(received: Diagnosis.quote("\(request.method) \(address.path)"), advice))
    }

    /// Returns the refusal of a request for a call of the control API whose path lacks the version or has another one,
    /// such as `/_understudy/outcomes` or `/_understudy/v2/outcomes`; `nil` for any other request.
    func misplacedCall(_ request: Request, _ address: Address, _ endpoints: EndpointTable) -> Response? {
        let root = "\(Endpoint.controlRoot)/"
        let own = "/\(root.split(separator: "/")[0])/"
        guard address.host == nil, address.path.hasPrefix(own), !address.path.hasPrefix(root) else { return nil }
        let rest = address.path.dropFirst(own.count)
        let first = rest.prefix { $0 != "/" }
        let hasVersion =
            first.hasPrefix("v") && first.utf8.count > 1
            && first.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
        // A browser that opens an address without a version gets a page of the inspector.
        guard hasVersion || (request.method != "GET" && request.method != "HEAD") else { return nil }
        let meant = "\(root)\(hasVersion ? rest.dropFirst(first.count + 1) : rest)"
        if case .notFound = endpoints.match(request.method, host: nil, path: meant) { return nil }
        return Dispatcher.problem(
            404, "noSuchCall",
            Diagnosis(
                received: Diagnosis.quote("\(request.method) \(address.path)"),
                "the control API has no such call; did you mean \(Diagnosis.quote(meant))?"))
    }

    static func noWorld(_ name: String) -> Response {
        let received = "world \(Diagnosis.quote(name))"
        guard WorldName.isValid(name) else {
            let advice = "\(WorldName.rule); \"understudy world-name TEXT\" makes a valid name from any text"
            return problem(404, "badWorldName", Diagnosis(received: received, advice))
        }
        let advice =
            "there are already \(WorldRegistry.limit) test worlds, all used within the last "
            + "\(WorldRegistry.evictionLimit) seconds: delete some worlds (DELETE /_understudy/v1/worlds/NAME)"
        return problem(503, "tooManyWorlds", Diagnosis(received: received, advice))
    }

    func noWorld(_ refusal: NamedWorld.Refusal) -> Response {
        switch refusal {
        case .contradiction(let first, let second):
            let diagnosis = Diagnosis(
                received:
                    "a request that names two test worlds, \(Diagnosis.quote(first)) (by the host name, port or proxy "
                    + "user) and \(Diagnosis.quote(second))",
                expected: "one test world",
                "remove the name of the other world from the request's address")
            return Dispatcher.problem(400, "twoWorlds", diagnosis)
        case .unknownHost(let name):
            let diagnosis = Diagnosis(
                received: "host \(Diagnosis.quote("\(name).localhost"))",
                expected: "HOST.localhost, HOST.WORLD.localhost or WORLD.localhost",
                "the daemon serves no host of this name; a host can't name a test world whose name has a dot: use "
                    + "the path /~\(name)/"
                    + (endpoints.nearestHost(to: name).map { "; did you mean \"\($0).localhost\"?" } ?? ""))
            return Dispatcher.problem(404, "noSuchHost", diagnosis)
        }
    }

    static func storeFailed(_ failure: StoreFailure) -> Response {
        var refusal = problem(503, failure.kind.code, failure.diagnosis)
        refusal.headers.append((name: "Retry-After", value: "1"))
        return refusal
    }

    /// The response with the status 500 for an error that has no response of its own.
    static let defect = problem(
        500, "defect", Diagnosis("this is a bug in Understudy: please report it, with the error in the daemon's log"))

    /// Returns the response to a request that the HTTP server refuses before any handler sees it, such as one that is
    /// too large. A call of the control API gets an error in JSON, and any other request gets a line of text.
    package func refusal(_ status: Int, _ reason: String, of target: String?) -> Response {
        let id = nextID()
        logger.info("\(reason)", metadata: ["request": "\(id)"])
        var response = Response(status: status, contentType: "text/plain", body: "\(reason)\n")
        if let target, Dispatcher.isControlCall(target) {
            response = ControlAnswer.error(status, Dispatcher.codes[status] ?? "badRequest", reason)
        }
        response.headers += [(name: Diagnosis.headerName, value: reason), (name: Dispatcher.requestHeader, value: id)]
        return response
    }

    private static let codes = [413: "bodyTooLarge", 431: "headerTooLarge", 503: "busy"]

    /// Returns whether a request's target is a call of the control API. The target may begin with the name of a test
    /// world: `/~NAME`.
    private static func isControlCall(_ target: String) -> Bool {
        var path = target.prefix { $0 != "?" }
        // The target may have the absolute form: https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2
        if let scheme = path.firstRange(of: "://"), !path.hasPrefix("/") {
            path = path[scheme.upperBound...].drop { $0 != "/" }
        }
        if path.hasPrefix("/~") { path = path.dropFirst().drop { $0 != "/" } }
        return path.hasPrefix("\(Endpoint.controlRoot)/")
    }

    private static func problem(_ status: Int, _ message: String, _ diagnosis: Diagnosis) -> Response {
        let body: JSONValue = ["error": ["code": .string(message), "message": .string(diagnosis.line)]]
        return Response(status: status, contentType: "application/json", body: body.serialized()).diagnosed(diagnosis)
    }

    static func badHost(_ authority: String) -> Response {
        let diagnosis = Diagnosis(
            received: "Host \(Diagnosis.quote(authority))",
            expected: "a host name or an IP address, with or without a port",
            "send the name of the host to which the client connects")
        return problem(400, "badHost", diagnosis)
    }
}

/// An error that a handler throws and that has a response to send. An error without a response is a defect of this
/// program.
package protocol AnswerableError: Error {
    var response: Response { get }
}

extension StoreFailure: AnswerableError {
    package var response: Response { Dispatcher.storeFailed(self) }
}
