# The command line in an image: docker build -t ostrakon . && docker run --rm -v "$PWD/store:/data" ostrakon table list
# The first stage has the toolchain of rust-toolchain.toml; the second only the program.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --locked --release --bin ostrakon && strip -o /ostrakon target/release/ostrakon

FROM debian:bookworm-slim
COPY --from=build /ostrakon /usr/local/bin/ostrakon
COPY LICENSE /usr/share/doc/ostrakon/copyright
RUN useradd --create-home --uid 1000 ostrakon && install -d -o ostrakon /data
USER ostrakon
ENV OSTRAKON_DATA=/data
VOLUME /data
ENTRYPOINT ["ostrakon"]
CMD ["help"]
