import EmulatorCore
import JSON
import Time

// The contents and actions of a user's page.

extension User {
    var line: InspectedUser.Line {
        InspectedUser.Line(
            id: localId, title: displayName ?? email ?? phoneNumber ?? localId, email: email,
            isEmailVerified: emailVerified, phoneNumber: phoneNumber, isDisabled: disabled,
            methods: methods, lastSignIn: lastLoginAt)
    }

    /// The ways to sign in, by the names of providers.
    private var methods: [String] {
        let all =
            signInMethods + (phoneNumber == nil ? [] : ["phone"]) + (passkeys.isEmpty ? [] : ["passkey"])
            + (isCustom ? ["custom"] : [])
        return all.isEmpty ? ["anonymous"] : all
    }

    fileprivate var facts: [InspectedFact] {
        var facts = [InspectedFact("User ID", .code(localId))]
        if let email {
            facts.append(InspectedFact("Address", .code(email)))
            facts.append(InspectedFact("Address verified", emailVerified))
        }
        if let initialEmail, initialEmail != email {
            facts.append(InspectedFact("First address", .code(initialEmail)))
        }
        if let displayName { facts.append(InspectedFact("Name", displayName)) }
        if let phoneNumber { facts.append(InspectedFact("Phone number", .code(phoneNumber))) }
        if let photoUrl { facts.append(InspectedFact("Picture", .code(photoUrl))) }
        facts.append(InspectedFact("Made", .time(createdAt)))
        for (name, time) in [
            ("Last sign-in", lastLoginAt), ("Last refresh", lastRefreshAt),
            ("Sessions end that began before", validSince),
        ] {
            if let time { facts.append(InspectedFact(name, .time(time))) }
        }
        if !customClaims.object.isEmpty {
            facts.append(InspectedFact("Custom claims", .code(JSONValue.object(customClaims.object).text)))
        }
        return facts
    }
}

extension FirebaseDirectory {
    func inspected(_ user: User, sessions: [Session], moreSessions: Int) -> InspectedUser {
        InspectedUser(
            user.line, facts: user.facts,
            sections: [
                InspectedSection("Ways to sign in", about: "None: an anonymous user.", ways(of: user)),
                InspectedSection("Second factors", about: "None.", user.factors.map { item($0, of: user) }),
                InspectedSection("Passkeys", about: "None.", user.passkeys.map { item($0, of: user) }),
                InspectedSection(
                    "Sessions", about: "None.", sessions.map { item($0, of: user) }, more: moreSessions),
            ], values: FirebaseUserFields.values(of: user), actions: actions(on: user, hasSessions: !sessions.isEmpty))
    }

    // MARK: - Sections

    private func ways(of user: User) -> [InspectedItem] {
        var items = user.links.map { link -> InspectedItem in
            var item = InspectedItem(link.providerId, kind: "identity at a provider")
            item.facts = [InspectedFact("rawId", .subject(link.rawId))]
            let others = [("Address", link.email), ("Name", link.displayName), ("User name", link.screenName)]
            item.facts += others.compactMap { label, text in text.map { InspectedFact(label, .code($0)) } }
            item.actions = [unlink(link.providerId, "Unlink", user)]
            return item
        }
        if let password = user.password {
            var item = InspectedItem("password")
            item.facts = [InspectedFact("Set", .time(password.updatedAt))]
            item.actions = [unlink("password", "Remove", user)]
            items.append(item)
        }
        if user.hasEmailLink {
            var item = InspectedItem("emailLink", kind: "links sent by e-mail")
            item.actions = [unlink("emailLink", "Remove", user)]
            items.append(item)
        }
        if let number = user.phoneNumber {
            var item = InspectedItem("phone")
            item.facts = [InspectedFact("Phone number", .code(number))]
            item.actions = [unlink("phone", "Remove", user)]
            items.append(item)
        }
        return items
    }

    private func item(_ factor: SecondFactor, of user: User) -> InspectedItem {
        var item = InspectedItem(
            factor.displayName ?? factor.id, kind: factor.claim == "totp" ? "authenticator app" : "text message")
        item.facts = [InspectedFact("ID", .code(factor.id)), InspectedFact("Enrolled", .time(factor.enrolledAt))]
        if case .phone(let number) = factor.kind { item.facts.append(InspectedFact("Number", .code(number))) }
        let key = user.key
        item.actions = [
            InspectedAction("factor \(factor.id)", "Remove", isDestructive: true) { () throws in
                let isDone = try exchange.world.update { tables in
                    tables.change(User.self, key) { user in
                        user.factors.removeAll { $0.id == factor.id }
                        user.hasWithdrawnFactors = true
                    }
                }
                guard isDone else { throw InspectedRefusal(404, "The user is gone.") }
                return "The second factor is removed."
            }
        ]
        return item
    }

    private func item(_ passkey: Passkey, of user: User) -> InspectedItem {
        var item = InspectedItem(passkey.name.isEmpty ? passkey.id : passkey.name, kind: "passkey")
        item.facts = [InspectedFact("ID", .code(passkey.id)), InspectedFact("Signatures", String(passkey.signCount))]
        item.actions = [
            InspectedAction("passkey \(passkey.id)", "Remove", isDestructive: true) { () throws in
                try await change(user.localId, JSONObject([("deletePasskey", [.string(passkey.id)])]))
                return "The passkey is removed."
            }
        ]
        return item
    }

    private func item(_ session: Session, of user: User) -> InspectedItem {
        var item = InspectedItem(session.provider, kind: "session")
        item.facts = [InspectedFact("Since", .time(session.authTime))]
        if let factor = session.secondFactor { item.facts.append(InspectedFact("Second factor", factor.claim)) }
        item.tokens = [
            InspectedToken(
                "refresh token", session.refreshToken, scopes: [], expires: nil,
                works: !user.disabled && !user.hasEnded(sessionOf: session.authTime))
        ]
        return item
    }

    // MARK: - Actions

    private func unlink(_ provider: String, _ label: String, _ user: User) -> InspectedAction {
        InspectedAction("unlink \(provider)", label, isDestructive: true) { () throws in
            try await change(user.localId, JSONObject([("deleteProvider", [.string(provider)])]))
            return "The user can't sign in with \(provider) any more."
        }
    }

    private func actions(on user: User, hasSessions: Bool) -> [InspectedAction] {
        var actions = [setDisabled(!user.disabled, user)]
        if user.email != nil, !user.disabled {
            actions.append(mail("PASSWORD_RESET", "Send a password reset", user))
            if !user.emailVerified { actions.append(mail("VERIFY_EMAIL", "Send an address verification", user)) }
        }
        if hasSessions {
            let signOut = InspectedAction("signOut", "Revoke all sessions", isDestructive: true) {
                () throws in
                _ = try await run(on: user.localId) { (call) throws in try self.provider.signOut(call) }
                return "All sessions are revoked: their refresh tokens are refused."
            }
            actions.append(signOut)
        }
        return actions
    }

    private func setDisabled(_ disabled: Bool, _ user: User) -> InspectedAction {
        InspectedAction("disabled \(disabled)", disabled ? "Disable" : "Enable", isDestructive: disabled) {
            () throws in
            try await change(user.localId, JSONObject([("disabled", .bool(disabled))]))
            return disabled ? "The user is disabled: sign-ins are refused." : "The user may sign in again."
        }
    }

    private func mail(_ kind: String, _ label: String, _ user: User) -> InspectedAction {
        InspectedAction("mail \(kind)", label) { () throws in
            let message = JSONObject([("requestType", .string(kind)), ("email", .string(user.email ?? ""))])
            _ = try await run(message) { (call) async throws in
                try await self.provider.sendOobCode(call)
            }
            return "The message is in the inbox."
        }
    }
}
