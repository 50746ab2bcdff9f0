import JOSE
import OAuth
import EmulatorCore
import Time

/// What is to be done with an identity: sign in with it, or link it to who is signed in.
/// <https://firebase.google.com/docs/auth/users#verified_email_addresses>
struct IdpRequest: Sendable {
    let identity: FederatedIdentity
    let signedIn: FirebaseCall.SignedIn?
    let returnsCredential: Bool
    let createsUsers: Bool

    enum Decision: Sendable {
        /// With a token under which the credential may be used once more, where the refusal brings one along.
        case refused(FirebaseError, pendingToken: String?)
        /// The address is another user's, and this provider's word isn't enough for it.
        case unconfirmed(User, pendingToken: String)
        case done(User, isNew: Bool, pendingToken: String)
    }

    func decide(
        _ state: inout ProjectState, _ context: inout FirebaseCall.Context, _ project: Project
    ) -> Decision {
        let known = state.user(identity: identity.key)
        if let known, known.disabled {
            return .refused(
                FirebaseError("USER_DISABLED", because: "the user \"\(known.localId)\" is disabled"), pendingToken: nil)
        }
        if let signedIn { return link(to: signedIn.user.localId, known, &state, &context, project) }
        if let known { return .done(known, isNew: false, pendingToken: pend(&state, &context)) }
        guard createsUsers else {
            let error = FirebaseError(
                "USER_NOT_FOUND",
                because:
                    "nobody has this \(identity.providerId) identity yet, and autoCreate is false: reauthenticate as the "
                    + "person who is signed in")
            return .refused(error, pendingToken: nil)
        }
        if project.oneAccountPerEmail, let email = identity.email, let owner = state.user(email: email) {
            return share(owner, &state, &context)
        }
        return .done(create(&state, &context, project), isNew: true, pendingToken: pend(&state, &context))
    }

    /// Keeps the identity for ten minutes.
    private func pend(_ state: inout ProjectState, _ context: inout FirebaseCall.Context) -> String {
        let token = Base64URL.encode(context.random.bytes(48))
        state.pending.insert(
            identity, as: token, expires: context.now + context.pendingTokenLifetime, now: context.now)
        return token
    }

    // MARK: - Signing in

    private func create(
        _ state: inout ProjectState, _ context: inout FirebaseCall.Context, _ project: Project
    ) -> User {
        var user = User(localId: ProjectState.localId(&context.random), now: context.now)
        // Where addresses may be shared, an address that is taken stays with the provider's entry.
        if let email = identity.email, project.oneAccountPerEmail || state.user(email: email) == nil {
            user.email = email.lowercased()
            user.emailVerified = identity.isTrusted
        }
        user.displayName = identity.displayName
        user.photoUrl = identity.photoUrl
        user.links = [identity.link]
        state.insert(user)
        return user
    }

    /// The address is another user's already.
    private func share(
        _ owner: User, _ state: inout ProjectState, _ context: inout FirebaseCall.Context
    ) -> Decision {
        guard !owner.disabled else {
            return .refused(
                FirebaseError("USER_DISABLED", because: "the user \"\(owner.localId)\" is disabled"), pendingToken: nil)
        }
        guard identity.isTrusted else { return .unconfirmed(owner, pendingToken: pend(&state, &context)) }
        var owner = owner
        if !owner.emailVerified {
            // Whoever signed in before hasn't shown that the address is theirs, and loses it to who has.
            owner.password = nil
            owner.links.removeAll { !User.isTrusted($0.providerId, email: $0.email, isVerified: true) }
        }
        owner.links.removeAll { $0.providerId == identity.providerId }
        owner.links.append(identity.link)
        owner.emailVerified = true
        if owner.displayName == nil { owner.displayName = identity.displayName }
        if owner.photoUrl == nil { owner.photoUrl = identity.photoUrl }
        state.insert(owner)
        return .done(owner, isNew: false, pendingToken: pend(&state, &context))
    }

    // MARK: - Linking

    private func link(
        to localId: String, _ known: User?, _ state: inout ProjectState, _ context: inout FirebaseCall.Context,
        _ project: Project
    ) -> Decision {
        guard var user = state.users[localId] else {
            return .refused(
                FirebaseError("USER_NOT_FOUND", because: "the user was deleted meanwhile"), pendingToken: nil)
        }
        if let known, known.localId != localId {
            let error = FirebaseError(
                "FEDERATED_USER_ID_ALREADY_LINKED",
                "This credential is already associated with a different user account.",
                because:
                    "this \(identity.providerId) identity is user \"\(known.localId)\"'s, not \"\(localId)\"'s: sign in "
                    + "with the updated credential instead")
            return .refused(error, pendingToken: pend(&state, &context))
        }
        guard user.link(identity.providerId) == nil else {
            // Production says so with status 200, which the Apple SDK wouldn't survive.
            let error = FirebaseError(
                "PROVIDER_ALREADY_LINKED",
                because: "the user \"\(localId)\" has a \(identity.providerId) identity already: unlink it first")
            return .refused(error, pendingToken: nil)
        }
        if project.oneAccountPerEmail, let email = identity.email, let owner = state.user(email: email),
            owner.localId != localId
        {
            let error = FirebaseError(
                "EMAIL_EXISTS", because: "the identity's address is user \"\(owner.localId)\"'s already")
            return .refused(error, pendingToken: pend(&state, &context))
        }
        if user.email == nil, let email = identity.email {
            user.email = email.lowercased()
            user.emailVerified = identity.isTrusted
        } else if identity.isTrusted, user.email == identity.email?.lowercased() {
            user.emailVerified = true
        }
        if user.displayName == nil { user.displayName = identity.displayName }
        if user.photoUrl == nil { user.photoUrl = identity.photoUrl }
        user.links.append(identity.link)
        state.insert(user)
        return .done(user, isNew: false, pendingToken: pend(&state, &context))
    }
}
