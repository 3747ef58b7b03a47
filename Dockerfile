# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tenon built on Debian 12, for machines that run another system: docker build -t tenon .

FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make
WORKDIR /tenon
COPY . .
RUN make setup
RUN make build
ENV PATH=/tenon/build/bin:$PATH
CMD ["bash"]
