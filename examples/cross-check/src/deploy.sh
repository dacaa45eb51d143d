#!/bin/sh
target=$1
rm -rf $target/old
cp -r build "$target"
# TODO: tell the others
