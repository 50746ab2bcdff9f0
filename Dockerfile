# This image is only for tests, never for production: it signs anyone in as anyone.
#
# The build stage is any image of Swift 6.3 on Debian 12.
ARG SWIFT_IMAGE=swift:6.3-bookworm
FROM ${SWIFT_IMAGE} AS build
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends libjansson-dev libmicrohttpd-dev libsqlite3-dev libssl-dev make openssl \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift Makefile README.md ./
COPY Plugins Plugins
COPY Sources Sources
COPY docs docs
COPY Tests Tests
COPY seed-data seed-data
COPY packaging packaging
RUN make install PREFIX=/usr DESTDIR=/out

FROM debian:bookworm-slim
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends ca-certificates libmicrohttpd12 libpq5 libssl3 libstdc++6 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --no-create-home --shell /usr/sbin/nologin understudy
COPY --from=build /out/usr/bin/understudy /usr/bin/understudy
USER understudy
ENV UNDERSTUDY_HOST=0.0.0.0 UNDERSTUDY_PORT=9099 UNDERSTUDY_SMTP_PORT=1025
EXPOSE 9099 1025
# The check asks at the port that the container's own daemon was given.
HEALTHCHECK --interval=2s --timeout=3s --retries=15 CMD ["/usr/bin/understudy", "health"]
ENTRYPOINT ["/usr/bin/understudy"]
CMD ["serve"]
