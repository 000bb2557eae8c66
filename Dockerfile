# Two stages: an environment of what the lock file names, each by its hash, with the program's wheel;
# then nothing but Python and that environment. Compiled at build time: start-up is half as long.
FROM docker.io/library/python:3.11-slim AS build
WORKDIR /source
RUN python -m venv /venv && python -m venv /build
COPY .ci/runtime.lock .ci/requirements.lock ./
RUN /venv/bin/pip install --no-cache-dir --no-compile --require-hashes -r runtime.lock \
 && /build/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY apiserver apiserver
COPY auth auth
COPY storage storage
COPY manifests/demo manifests/demo
RUN /build/bin/python -m build --wheel --no-isolation --outdir /dist \
 && /venv/bin/pip install --no-cache-dir --no-compile --no-deps /dist/*.whl \
 && /venv/bin/pip uninstall --yes pip setuptools \
 && /venv/bin/python -m compileall -q /venv/lib

FROM docker.io/library/python:3.11-slim
COPY --from=build /venv /venv
USER 65532:65532
ENTRYPOINT ["/venv/bin/gpuclass-apiserver"]
