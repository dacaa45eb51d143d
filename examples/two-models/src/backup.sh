#!/bin/sh
# Packs a folder.
set -eu

folder=${1:?the folder to pack}
name=$(basename "$folder")-$(date +%Y%m%d)

# TODO: keep the last seven only
tar -czf "$name.tar.gz" "$folder"
echo "packed $folder"
