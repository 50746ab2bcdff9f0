import Control
import EmulatorCore
import HTTPServer
import JOSE
import JSON

// The page /_understudy/callback, to which the seed's example clients return, in place of an app. It shows the answer,
// and redeems the code.

/// The authorization response to a sign-in that was tried out in the inspector, and what the daemon knows about the
/// response's values.
private struct ReturnedSignIn: Sendable {
    let provider: (any Provider)?
    /// The stored data of the authorization code.
    let code: IssuedValue?
    let client: String?
    let flow: String?
    let findings: [ExplainedPart]
}

extension Inspector {
    private static let postMark = "understudy_method"
    private static let postLimit = 6 << 10

    var callbackEndpoints: [Endpoint] {
        [
            page("GET", Inspector.callbackPath) { try await callback($0) },
            // The post gets no checks of a page: it only redirects to one.
            Endpoint("POST", [], "\(Inspector.root)/\(Inspector.callbackPath)", nil) { posted($0) },
            form("\(Inspector.callbackPath)/redeem") { try await redeem($0, $1) },
        ]
    }

    /// Answers a form post (`response_mode=form_post`) by redirecting the browser to a page whose query has the same
    /// fields. The post itself can't show the page: it comes from the provider's site, so it carries no cookies of the
    /// inspector.
    private func posted(_ exchange: Exchange) -> Response {
        guard exchange.request.body.count <= Inspector.postLimit else {
            return missing(
                exchange, .signIns, "Too long", "The posted form is too long for this page.", status: 413,
                diagnosis: Diagnosis("this page accepts at most \(Inspector.postLimit) bytes"))
        }
        var form = Form(parsing: exchange.request.body)
        form.fields.append(.init(name: Inspector.postMark, value: "POST"))
        return .redirect(to: exchange.inspector("\(Inspector.callbackPath)?\(form.encoded)"), status: 303)
    }

    private func callback(_ exchange: Exchange) async throws -> Response {
        let form = exchange.request.queryForm
        let (code, state) = (form["code"] ?? "", form["state"] ?? "")
        if let world = TrialState(state)?.world, world != exchange.world.name {
            let base = exchange.address.base(
                ofWorld: world, isUnnamed: world == control.worlds.unnamed, port: nil, main: nil)
            return .redirect(to: "\(base)\(Inspector.root)/\(Inspector.callbackPath)?\(form.encoded)", status: 303)
        }
        let fields = form.fields.filter { $0.name != Inspector.postMark }
        guard !fields.isEmpty else { return nothingCame(exchange) }
        let came = try await returned(exchange, fields, code: code, state: state)
        let name = came.provider.map { $0.facts.title } ?? "the provider"
        let person = came.code.flatMap { self.person($0.account, in: exchange) }
        let title =
            form["error"].map { "\(name.capitalizedFirst) says \(ShownText.plain($0, limit: 60))" }
            ?? person.map { "\($0) came back from \(name)" } ?? "Back from \(name)"
        return page(
            exchange, .signIns, title: title,
            [
                .of(
                    "p",
                    "This page stands in for your app's callback (redirect URI). An app would receive these values, and its server would redeem the code."
                ), facts(exchange, came, fields, isPost: form[Inspector.postMark] != nil),
                code.isEmpty ? nil : redemption(exchange, came, code: code, state: state),
                .of("h2", "What Understudy knows about the received values"),
                .group(findingCards(exchange, came.findings.prefix(8))),
            ])
    }

    private func nothingCame(_ exchange: Exchange) -> Response {
        page(
            exchange, .signIns, title: "Nothing came back", scripts: ["callback"],
            [
                .of(
                    "p",
                    "This page stands in for an app's callback: register the page's address as a redirect URI, and start a sign-in that returns here."
                ), tryOut(exchange),
            ])
    }

    /// Returns the daemon's knowledge about the values in an authorization response.
    private func returned(
        _ exchange: Exchange, _ fields: [Form.Field], code: String, state: String
    ) async throws -> ReturnedSignIn {
        let (world, reader) = (exchange.world, ValueReader(exchange.world, by: control))
        let issued = code.isEmpty ? nil : reader.issued(code)
        let address = issued?.value.redirectURI ?? exchange.inspector(Inspector.callbackPath)
        let explained = try await control.explain(
            "\(address)?\(Form(fields: fields).encoded)", rawNonce: nil, in: world)
        return try await world.recording.search {
            let search = RecordingSearch(world.recording.known().exchanges)
            let begun = state.isEmpty ? nil : search.sender(of: state, as: ["state"])
            let maker = search.maker(of: code) ?? begun
            return ReturnedSignIn(
                provider: issued?.provider ?? maker.flatMap { reader.provider(of: $0.exchange) }, code: issued?.value,
                client: issued?.value.client ?? maker?.client, flow: maker?.flow, findings: explained.parts)
        }
    }

    private func person(_ id: String, in exchange: Exchange) -> String? {
        exchange.world.read { $0.account(id) }?.title
    }

    private func facts(
        _ exchange: Exchange, _ came: ReturnedSignIn, _ fields: [Form.Field], isPost: Bool
    ) -> HTML {
        var rows: [(String, HTML)] = []
        if let provider = came.provider { rows.append(("Provider", .text(provider.facts.title))) }
        if let client = came.client { rows.append(("Client", ShownText.code(client, limit: 300))) }
        rows.append(("Came by", .text(isPost ? "a form post (response_mode=form_post)" : "a redirect")))
        rows += fields.prefix(20).map { ($0.name, ShownText.code($0.value, limit: 2_000)) }
        return .of(
            "div.card", .facts(rows),
            came.flow.map { .of("p", exchange.link("flows/\($0)", "See the sign-in")) })
    }

    private func redemption(_ exchange: Exchange, _ came: ReturnedSignIn, code: String, state: String) -> HTML? {
        guard let value = came.code, let provider = came.provider as? any OffersTrials,
            let trial = trial(of: value, at: provider, exchange)
        else { return nil }
        return form(
            to: "\(Inspector.callbackPath)/redeem", exchange, ["class": "row callback-redeem"], .hidden("code", code),
            .hidden("state", state), .button("Redeem it"),
            .of("span.soft.small", "by ", .of("code", ShownText.isolated("POST \(trial.tokenPath)"))))
    }

    // MARK: - Redeeming

    private func trial(
        of code: IssuedValue, at provider: any OffersTrials, _ exchange: Exchange
    ) -> TrialSignIn? {
        guard code.kind == .code, let redirectURI = code.redirectURI else { return nil }
        return provider.trials(returningTo: redirectURI).first { $0.client == code.client }
    }

    private func redeem(_ exchange: Exchange, _ form: Form) async throws -> Response {
        let (code, state) = (form["code"] ?? "", form["state"] ?? "")
        let reader = ValueReader(exchange.world, by: control)
        guard let (provider, value) = reader.issued(code), let offer = provider as? any OffersTrials,
            let trial = trial(of: value, at: offer, exchange), let redirectURI = value.redirectURI
        else {
            return unredeemed(
                exchange, 404,
                "the code is unknown in this test world, or its client isn't in the seed: start a new sign-in")
        }
        var fields: [(String, String?)] = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
            ("client_id", trial.client),
        ]
        var headers = [(name: "Accept", value: "application/json")]
        if value.hasChallenge { fields.append(("code_verifier", TrialState(state)?.verifier)) }
        if trial.authentication != .none {
            let secret: String
            do throws(ClientSecretRequest.Refusal) { secret = try self.secret(of: trial, at: provider, exchange) } catch
            {
                return unredeemed(exchange, 409, error.description)
            }
            if trial.authentication == .basic {
                headers.append((name: "Authorization", value: basic(trial.client, secret)))
            } else {
                fields.append(("client_secret", secret))
            }
        }
        let answer = await exchange.fetch(form: fields, exchange.address.authority, trial.tokenPath, headers: headers)
        return try await redeemed(exchange, trial, value, answer)
    }

    private func unredeemed(_ exchange: Exchange, _ status: Int, _ reason: String) -> Response {
        missing(
            exchange, .signIns, "Not redeemed", "\(reason.capitalizedFirst).", status: status,
            diagnosis: Diagnosis(reason))
    }

    private func secret(
        of trial: TrialSignIn, at provider: any Provider, _ exchange: Exchange
    ) throws(ClientSecretRequest.Refusal) -> String {
        let seed = exchange.world.seed
        if let secret = seed.section(named: provider.name)?.secret(ofClient: trial.client) { return secret }
        let wanted = ClientSecretRequest(client: trial.client, now: exchange.world.now)
        guard
            let secret = try (type(of: provider) as? any SignsClientSecrets.Type)?.clientSecret(for: wanted, seed: seed)
        else {
            throw ClientSecretRequest.Refusal("the seed has no secret for the client \(Diagnosis.quote(trial.client))")
        }
        return secret
    }

    /// Returns the value of the header `Authorization` for a client's ID and secret, by HTTP Basic authentication:
    /// <https://datatracker.ietf.org/doc/html/rfc6749#section-2.3.1>
    private func basic(_ client: String, _ secret: String) -> String {
        let parts = [client, secret].map { PercentCoding.encode(Array($0.utf8)) }
        return "Basic \(Base64.encode(Array(parts.joined(separator: ":").utf8)))"
    }

    /// Returns the page that shows the token endpoint's response after a trial sign-in.
    private func redeemed(
        _ exchange: Exchange, _ trial: TrialSignIn, _ code: IssuedValue, _ answer: Response
    ) async throws -> Response {
        let members = try? JSONValue(parsing: answer.body, limits: .answer)
        let id = answer.header("Understudy-Request")
        var content: [HTML?] = []
        let token = members?["id_token"]?.string
        let access = members?["access_token"]?.string
        let isRefused = token == nil && access == nil
        let name = person(code.account, in: exchange) ?? "Somebody"
        if isRefused, let reason = answer.header(Diagnosis.headerName) {
            content.append(.of("div.note.bad", reasonParts(reason, exchange)))
        } else if !isRefused {
            content.append(
                .note(
                    "good",
                    ShownText.isolated("\(trial.title) issued tokens to \(trial.client): \(name) is signed in.")))
        }
        if let token {
            let explained = try await control.explain(token, rawNonce: nil, in: exchange.world)
            if let read = explained.token {
                content += [.of("h2", "The ID token"), tokenCard(exchange, read, place: nil, number: 0)]
            }
        } else if let access, let path = trial.personPath {
            let person = await exchange.fetch(
                "GET", exchange.address.authority, path, headers: [(name: "Authorization", value: "Bearer \(access)")])
            content.append(answerCard("Who it is: GET \(path)", person))
        }
        content += [
            answerCard("The answer of POST \(trial.tokenPath)", answer),
            .of(
                "p.row", id.map { exchange.link("requests/\($0)", "See the request") },
                exchange.link("", "All sign-ins")),
            tryOut(exchange).map { .group([.of("h2", "Try another"), $0]) },
        ]
        return page(
            exchange, .signIns, title: isRefused ? "\(trial.title) refused the code" : "\(name) signed in", content)
    }

    private func answerCard(_ title: String, _ answer: Response) -> HTML {
        let body =
            control.masksSecrets
            ? [HTML.of("p.soft", "The body isn't shown, because secrets are masked. See the recorded request.")]
            : BodyView.text(String(decoding: answer.body, as: UTF8.self), type: nil, label: title)
        return .of(
            "section.card",
            .of(
                "div.row", .of("h2", ShownText.isolated(title)),
                .badge("\(answer.status)", answer.status < 400 ? "good" : "bad")), .group(body))
    }
}
