import JOSE
import OAuth
import EmulatorCore
import Time
import Worlds

/// A request to sign in with an identity at an identity provider, or to link the identity to the signed-in user.
/// <https://firebase.google.com/docs/auth/users#verified_email_addresses>
struct IdpRequest: Sendable {
    let identity: FederatedIdentity
    let signedIn: FirebaseCall.SignedIn?
    let returnsCredential: Bool
    let createsUsers: Bool

    enum Decision: Sendable {
        /// The request to sign in, or to link an identity to a user, is refused with an error. If the client can try
        /// again, it gets a pending token, which it can send instead of the credential.
        case refused(FirebaseError, pendingToken: String?)
        /// A different user has the identity's e-mail address, and Firebase doesn't trust the identity provider to have
        /// verified the address. The client must confirm who the user is.
        case unconfirmed(User, pendingToken: String)
        case done(User, isNew: Bool, pendingToken: String)
    }

    func decide(_ tables: inout Transaction, _ creation: Creation, _ call: FirebaseCall) -> Decision {
        let known = tables.user(User.Identity(pool: call.pool, providerId: identity.providerId, rawId: identity.rawId))
        if let known, known.disabled { return .refused(.userIsDisabled(known), pendingToken: nil) }
        if let signedIn { return link(to: signedIn, known, &tables, call) }
        if let known {
            let user = refreshed(known, &tables, call)
            return .done(user, isNew: false, pendingToken: keep(&tables, call))
        }
        guard createsUsers else {
            let error = FirebaseError(
                "USER_NOT_FOUND",
                because:
                    "no user has this \(identity.providerId) identity yet, and autoCreate is false: reauthenticate "
                    + "with an identity of the signed-in user")
            return .refused(error, pendingToken: nil)
        }
        if call.project.oneAccountPerEmail, let email = identity.email,
            let owner = tables.user(email: email, in: call.pool)
        {
            return merge(into: owner, &tables, call)
        }
        let user = create(&tables, creation, call)
        return .done(user, isNew: true, pendingToken: keep(&tables, call))
    }

    /// Stores the credential for a while, and returns a pending token that the client can send in its place.
    private func keep(_ tables: inout Transaction, _ call: FirebaseCall) -> String {
        let token = Base64URL.encode(tables.random.bytes(48))
        let lifetime = call.exchange.world.seed[FirebaseSection.self].pendingTokenLifetime
        tables.put(PendingCredential(token: token, pool: call.pool, identity: identity, expires: tables.now + lifetime))
        return token
    }

    // MARK: - Signing in

    /// Replaces the user's stored profile at the identity provider by the one in a fake credential, as the Firebase
    /// emulator does. Outside emulator mode the stored profile stays; production's behaviour isn't documented.
    private func refreshed(_ known: User, _ tables: inout Transaction, _ call: FirebaseCall) -> User {
        let link = identity.link
        guard identity.isFake, call.isInEmulatorMode,
            let place = known.links.firstIndex(where: { $0.providerId == link.providerId }), known.links[place] != link
        else { return known }
        var user = known
        user.links[place] = link
        tables.put(user)
        return user
    }

    private func create(_ tables: inout Transaction, _ creation: Creation, _ call: FirebaseCall) -> User {
        var user = creation.user(in: call.pool, &tables)
        // If users may share an address, it stays only in the provider's entry.
        // https://support.google.com/firebase/answer/9134820
        if call.project.oneAccountPerEmail, let email = identity.email {
            user.email = email.lowercased()
            user.emailVerified = identity.isTrusted
        }
        user.displayName = identity.displayName
        user.photoUrl = identity.photoUrl
        user.links = [identity.link]
        creation.finish(&user)
        tables.put(user)
        return user
    }

    /// Links the identity to the existing user with the same e-mail address, if the identity provider is trusted to
    /// have verified the address. If the user's address wasn't verified before, the password and the identities at
    /// untrusted providers are removed.
    private func merge(into owner: User, _ tables: inout Transaction, _ call: FirebaseCall) -> Decision {
        guard !owner.disabled else { return .refused(.userIsDisabled(owner), pendingToken: nil) }
        guard identity.isTrusted else { return .unconfirmed(owner, pendingToken: keep(&tables, call)) }
        var owner = owner
        if identity.isFake, call.isInEmulatorMode {
            // Nothing public says that production does so.
            owner.displayName = identity.displayName
            owner.photoUrl = identity.photoUrl
            if !owner.emailVerified {
                owner.links = []
                owner.phoneNumber = nil
                owner.validSince = tables.now.wholeSecond
            }
        }
        if !owner.emailVerified {
            // The user hasn't proved so far that the address is theirs; this person has.
            owner.password = nil
            owner.links.removeAll { !User.isTrusted($0.providerId, email: $0.email, isVerified: true) }
        }
        owner.links.removeAll { $0.providerId == identity.providerId }
        owner.links.append(identity.link)
        owner.emailVerified = true
        if owner.displayName == nil { owner.displayName = identity.displayName }
        if owner.photoUrl == nil { owner.photoUrl = identity.photoUrl }
        tables.put(owner)
        return .done(owner, isNew: false, pendingToken: keep(&tables, call))
    }

    // MARK: - Linking

    private func link(
        to signedIn: FirebaseCall.SignedIn, _ known: User?, _ tables: inout Transaction, _ call: FirebaseCall
    ) -> Decision {
        var user: User
        do throws(FirebaseError) { user = try signedIn.user(in: tables) } catch {
            return .refused(error, pendingToken: nil)
        }
        let localId = user.localId
        // The official emulator refuses an identity of the same user, too.
        if let known, known.localId != localId || call.isInEmulatorMode {
            let whose =
                known.localId == localId
                ? "user \"\(localId)\" itself"
                : "user \"\(known.localId)\", not to \"\(localId)\": sign in with the updated credential instead"
            let error = FirebaseError(
                "FEDERATED_USER_ID_ALREADY_LINKED",
                call.isInEmulatorMode ? nil : "This credential is already associated with a different user account.",
                because: "this \(identity.providerId) identity already belongs to \(whose)")
            return .refused(error, pendingToken: keep(&tables, call))
        }
        // The address is checked before the provider: recorded as `link#link-taken-email`.
        if call.project.oneAccountPerEmail, let email = identity.email,
            let owner = tables.user(email: email, in: call.pool), owner.localId != localId
        {
            let error = FirebaseError(
                "EMAIL_EXISTS", because: "the identity's e-mail address already belongs to user \"\(owner.localId)\"")
            return .refused(error, pendingToken: keep(&tables, call))
        }
        guard user.link(identity.providerId) == nil else {
            // Recorded as `link#link-second`.
            let error = FirebaseError(
                "PROVIDER_ALREADY_LINKED",
                because: "the user \"\(localId)\" already has a \(identity.providerId) identity: unlink it first")
            return .refused(error, pendingToken: keep(&tables, call))
        }
        if user.email == nil, call.project.oneAccountPerEmail, let email = identity.email {
            user.email = email.lowercased()
            user.emailVerified = identity.isTrusted
        } else if identity.isTrusted, user.email == identity.email?.lowercased() {
            user.emailVerified = true
        }
        // The name and the picture stay with the provider's entry: https://github.com/firebase/firebase-ios-sdk/issues/12358
        user.links.append(identity.link)
        tables.put(user)
        return .done(user, isNew: false, pendingToken: keep(&tables, call))
    }
}

/// The credential with which a client wanted to sign in, or to link an identity to a user. The client got a pending
/// token, which it can send instead of the credential until the token expires.
struct PendingCredential: TokenRow {
    static let table = Table<PendingCredential>(
        "firebase.pendingCredential", limit: 100_000, byteLimit: 64 << 20, indexes: [byPool],
        droppedAt: { $0.expires }, size: { $0.identity.size })
    static let byPool = Index<PendingCredential, UserPool>("pool") { $0.pool }

    let token: String
    let pool: UserPool
    let identity: FederatedIdentity
    let expires: Instant
}
