/// The permissions: <https://developers.facebook.com/docs/permissions>.
enum FacebookPermission {
    /// The permission that every sign-in grants.
    static let always = "public_profile"

    private static let words = [
        "public_profile": "name and profile picture", "email": "e-mail address", "user_age_range": "age range",
        "user_birthday": "birthday", "user_friends": "list of friends", "user_gender": "gender",
        "user_hometown": "hometown", "user_link": "link to the profile", "user_location": "current city",
    ]

    /// The names on Meta's page, and `openid`. The dialog ignores others: "Users of your app will ignore these
    /// permissions if present", it says to developers.
    private static let known: Set<String> = [
        "ads_management", "ads_read", "attribution_read", "business_management", "catalog_management", "email",
        "gaming_profile", "gaming_user_locale", "gaming_user_picture", "instagram_basic",
        "instagram_branded_content_ads_brand", "instagram_branded_content_brand", "instagram_branded_content_creator",
        "instagram_content_publish", "instagram_graph_user_media", "instagram_graph_user_profile",
        "instagram_manage_comments", "instagram_manage_contents", "instagram_manage_events",
        "instagram_manage_insights", "instagram_manage_messages", "instagram_manage_upcoming_events",
        "instagram_shopping_tag_products", "leads_retrieval", "manage_app_solution", "manage_fundraisers", "openid",
        "page_events", "pages_manage_ads", "pages_manage_cta", "pages_manage_engagement",
        "pages_manage_instant_articles", "pages_manage_metadata", "pages_manage_posts", "pages_messaging",
        "pages_messaging_subscriptions", "pages_read_engagement", "pages_read_user_content", "pages_show_list",
        "pages_user_gender", "pages_user_locale", "pages_user_timezone", "private_computation_access",
        "public_profile", "publish_video", "read_insights", "read_page_mailboxes", "threads_business_basic",
        "user_age_range", "user_birthday", "user_friends", "user_gender", "user_hometown", "user_likes", "user_link",
        "user_location", "user_messenger_contact", "user_photos", "user_posts", "user_videos",
        "whatsapp_business_management", "whatsapp_business_messaging",
    ]

    /// Returns the valid permissions of a request, each once.
    static func asked(_ names: [String]) -> [String] {
        var seen: Set<String> = [always]
        return [always] + names.filter { known.contains($0) && seen.insert($0).inserted }
    }

    /// Returns the unknown names in a request.
    static func unknown(_ names: [String]) -> [String] { names.filter { !known.contains($0) } }

    /// Returns the names in a scope, which are separated by commas or blanks.
    static func names(ofScope scope: String) -> [String] {
        scope.split { $0 == "," || $0 == " " }.map(String.init)
    }

    static func descriptions(of permissions: [String]) -> [String] {
        permissions.map { name in words[name].map { "\($0) (\(name))" } ?? name }
    }
}
