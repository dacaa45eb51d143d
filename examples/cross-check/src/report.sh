#!/bin/sh
for name in `ls reports`; do
  wc -w "reports/$name"
done
