/// Permissions in words, for the dialog: <https://developers.facebook.com/docs/permissions>.
enum FacebookPermission {
    private static let words = [
        "public_profile": "name and profile picture", "email": "e-mail address", "user_birthday": "birthday",
        "user_friends": "list of friends", "user_link": "link to the profile", "user_location": "current city",
    ]

    /// Others stand as they are.
    static func descriptions(of permissions: [String]) -> [String] {
        permissions.map { name in words[name].map { "\($0) (\(name))" } ?? name }
    }
}
