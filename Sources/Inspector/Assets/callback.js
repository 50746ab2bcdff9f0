// Only scripts see a URL's fragment, so this script requests the page again with the fragment in the query.
if (location.hash.includes("=")) location.replace(`${location.pathname}?${location.hash.slice(1)}`);
