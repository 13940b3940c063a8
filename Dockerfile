# The service alone; its database is another container's, so DATABASE_URL and LADDER_SECRET must be set.
FROM rust:1-slim-bookworm AS build
WORKDIR /build
COPY . .
# Queries are checked against .sqlx: no database is needed here.
ENV SQLX_OFFLINE=true
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/build/target \
    cargo build --profile dist --locked --bin hasami-ladder \
    && cp target/dist/hasami-ladder /usr/local/bin/

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin ladder
COPY --from=build /usr/local/bin/hasami-ladder /usr/local/bin/hasami-ladder
USER 10001:10001
ENV LADDER_LISTEN=0.0.0.0:8080 LADDER_LOG_FORMAT=json
EXPOSE 8080
# bash speaks TCP by itself; the image needs no curl.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r line <&3 && [[ $line == *' 200 '* ]]"]
ENTRYPOINT ["hasami-ladder"]
CMD ["serve"]
