import EmulatorCore

/// A person's membership in an organization, and the caller's view of it.
struct Membership: Sendable {
    enum State: String, Sendable {
        case active
        case pending
    }

    let organization: GitHubSection.Organization

    init(_ organization: GitHubSection.Organization) { self.organization = organization }

    func state(of account: Account) -> State? {
        guard account.github.orgs.contains(where: { $0.lowercased() == organization.login.lowercased() }) else {
            return nil
        }
        return organization.pendingMembers.contains(account.id) ? .pending : .active
    }

    func isMember(_ account: Account?) -> Bool { account.map { state(of: $0) == .active } ?? false }

    func isPublicMember(_ account: Account) -> Bool {
        isMember(account) && organization.publicMembers.contains(account.id)
    }

    func role(of account: Account) -> String { organization.owners.contains(account.id) ? "admin" : "member" }
}

extension RESTCall {
    /// Whether the caller sees the members of an organization: a member with a token that may read organizations.
    func seesMembers(of membership: Membership) -> Bool {
        membership.isMember(viewer.account) && viewer.may(RESTCall.organizationScopes, permission: "members")
    }

    static let organizationScopes: [GitHubScope] = [.adminOrg, .readOrg, .repo, .user, .writeOrg]

    /// Returns the organization's refusal of an app that it hasn't approved, or of a token without single sign-on.
    /// <https://docs.github.com/organizations/managing-oauth-access-to-your-organizations-data/about-oauth-app-access-restrictions>
    func restriction(by organization: GitHubSection.Organization) -> RESTAnswer? {
        guard case .person(_, let app, _) = viewer else { return nil }
        if organization.hides(from: app) {
            let message =
                "Although you appear to have the correct authorization credentials, the `\(organization.login)` organization "
                + "has enabled OAuth App access restrictions, meaning that data access to third-parties is limited. For more "
                + "information on these restrictions, including how to enable this app, visit "
                + "https://docs.github.com/articles/restricting-access-to-your-organization-s-data/"
            return RESTAnswer.error(403, message, documentation)
                .because("add \"\(app.clientID)\" to approvedApps of \"\(organization.login)\" in the seed")
        }
        guard organization.samlEnforced else { return nil }
        let message =
            "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization."
        var answer = RESTAnswer.error(403, message, documentation)
            .because("the seed says samlEnforced for \"\(organization.login)\"")
        answer.headers.append(
            (
                name: "X-GitHub-SSO",
                value: "required; url=\(base.html)/orgs/\(organization.login)/sso?authorization_request=understudy"
            ))
        return answer
    }

    /// Returns the caller's organizations that this token shows, and those that single sign-on hides.
    func visibleOrganizations() -> (shown: [GitHubSection.Organization], keptBack: [GitHubSection.Organization]) {
        guard case .person(let account, let app, _) = viewer else { return ([], []) }
        let mine = directory.organizations(of: account).filter { organization in
            if let details = app.details { return details.isInstalled(at: organization.login) }
            return !organization.hides(from: app)
        }
        return (mine.filter { !$0.samlEnforced }, mine.filter(\.samlEnforced))
    }
}
