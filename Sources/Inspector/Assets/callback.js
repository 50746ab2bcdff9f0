// What comes in a URL's fragment is seen by scripts only: the page is asked for again with it in the query.
if (location.hash.includes("=")) location.replace(`${location.pathname}?${location.hash.slice(1)}`);
