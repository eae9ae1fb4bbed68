# Needs nothing but this directory. What a build behind a mirror needs may be
# given with --build-arg: GOPROXY, HTTPS_PROXY.
FROM golang:1.26 AS build
WORKDIR /src
ARG GOPROXY
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /redlock-proxy .

# No shell, no package manager, nothing to update but the program itself.
FROM scratch
ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="redlock-proxy" \
      org.opencontainers.image.description="Redlock over several Redis masters for unchanged single-instance lock clients" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /redlock-proxy /redlock-proxy
USER 65532:65532
# Like the official Redis image: reachable from other containers. Set
# REDLOCK_REQUIREPASS_FILE, or keep it on a trusted network.
ENV REDLOCK_LISTEN=0.0.0.0:6379 REDLOCK_PROTECTED_MODE=false
EXPOSE 6379
# It drains for REDLOCK_DRAIN_TIME, and then finishes what is in flight.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["/redlock-proxy", "healthcheck"]
ENTRYPOINT ["/redlock-proxy"]
