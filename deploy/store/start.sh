#!/bin/sh
# Starts the S3 store of docker-compose.yml, SeaweedFS, and creates its bucket. The store is healthy when the bucket
# exists (/tmp/bucket). Only the S3 port can be reached from other containers, and it requires a key.
set -eu
bucket=drover-files

# The store's own shell. It succeeds also if a command fails, for example because the bucket exists.
create_bucket() {
    printf 's3.bucket.create -name %s\ns3.bucket.list\n' "$bucket" |
        weed shell -master=127.0.0.1:9333 -filer=127.0.0.1:8888 2>&1
}
rm -f /tmp/bucket
(
    until create_bucket | grep -q "^ *$bucket"; do
        sleep 1
    done
    : >/tmp/bucket
) &

# preStopSeconds is a pause for other servers, of which there are none. With it the end takes as long as the containers'
# stop_grace_period.
exec weed -logtostderr server -dir=/data -ip=127.0.0.1 -ip.bind=127.0.0.1 \
    -s3 -s3.ip.bind=0.0.0.0 -s3.port=8333 -s3.config=/run/secrets/store-identities -s3.autoCreateBucket=false \
    -s3.port.iceberg=0 -s3.port.lance=0 \
    -volume.max=0 -volume.preStopSeconds=0 -master.volumeSizeLimitMB=1024 -master.peers=none -master.telemetry=false
