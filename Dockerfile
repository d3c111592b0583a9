# Footplate with git, Node (for agents that need it) and bubblewrap, as a user who is not root.
#
#   docker build -t footplate:0.1 .
#   docker run --init -p 127.0.0.1:2468:2468 -v footplate:/home/footplate/data -e FOOTPLATE_TOKEN -e ANTHROPIC_API_KEY footplate:0.1

FROM node:22-bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
ARG SOURCE_DATE_EPOCH=1700000000
RUN python3 -m venv /build \
 && /build/bin/pip install --no-cache-dir --constraint constraints.txt hatchling \
 && /build/bin/python -m hatchling build -t wheel -d /dist \
 && cp constraints.txt /dist/

FROM node:22-bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv git bubblewrap ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --shell /bin/bash footplate
COPY --from=build /dist /dist
RUN python3 -m venv /opt/footplate \
 && /opt/footplate/bin/pip install --no-cache-dir --constraint /dist/constraints.txt "footplate[push]==0.1.*" --pre --find-links /dist \
 && rm -r /dist
ENV PATH=/opt/footplate/bin:$PATH \
    FOOTPLATE_DATA_DIR=/home/footplate/data
USER footplate
WORKDIR /home/footplate
RUN mkdir data work
VOLUME /home/footplate/data
EXPOSE 2468
HEALTHCHECK --start-period=20s CMD ["footplate", "serve", "status"]
ENTRYPOINT ["footplate", "serve", "--host", "0.0.0.0"]
