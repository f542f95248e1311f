# docker build --build-arg COMMIT=$(git rev-parse HEAD) --tag orlop:0.1.0 .
FROM rust:1.95-slim-bookworm AS build
# The sources in the image have no repository from which the commit could be read.
ARG COMMIT=
ENV ORLOP_COMMIT=$COMMIT
WORKDIR /source
COPY . .
RUN cargo build --locked --release --package apiserver

# glibc and libgcc, certificates of public authorities, and no shell. `nonroot` is the user 65532.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /source/target/release/apiserver /usr/local/bin/apiserver
# The only directory that is written. With a read-only root, mount a volume here, and one at /tmp for `storage check`.
WORKDIR /var/lib/orlop
EXPOSE 6443
ENTRYPOINT ["/usr/local/bin/apiserver"]
CMD ["--bind-address=0.0.0.0", "--data-dir=/var/lib/orlop"]
