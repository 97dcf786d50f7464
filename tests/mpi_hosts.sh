#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/mpi_hosts.sh: runs a program on ranks of Open MPI that share no memory. Each rank is in a separate network
# namespace, and a bridge connects them.
#
#   mpi_hosts.sh MPIEXEC RANKS PROGRAM [ARGUMENT…]
#
# mpiexec starts a rank on another host through an agent such as ssh. Here the agent enters the namespaces of a rank.
# The bridge and everything else is in namespaces of this script, and ends with it. Exit status 77 (skipped) if the user
# may not create namespaces.
set -euo pipefail

own=(unshare --net --mount --pid --fork --mount-proc --kill-child)
if [ "$1" != inside ]; then
  "$1" --version | grep -q "Open MPI\|OpenRTE" || { echo "skipped: $1 is not Open MPI's"; exit 77; }
  for tool in ip nsenter setpriv unshare; do command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }; done
  "${own[@]}" ip link add bridge type bridge 2>/dev/null || { echo "skipped: no network namespaces may be made here"; exit 77; }
  # unshare ignores SIGINT and SIGTERM. The end of this process kills it and all processes of its namespaces.
  setpriv --pdeathsig KILL "${own[@]}" bash "$0" inside "$@" <&0 &
  trap 'kill -KILL $!; exit 143' HUP INT TERM
  wait $!
  exit
fi
mpiexec=$2
ranks=$3
shift 3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ip link set lo up
ip link add bridge type bridge
ip address add 10.0.0.254/24 dev bridge
ip link set bridge up

hosts=()
for ((rank = 0; rank < ranks; ++rank)); do
  host=10.0.0.$((rank + 1))
  unshare --net --uts --ipc --mount sleep infinity &
  until [ "$(readlink /proc/$!/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ]; do sleep 0.01; done
  ip link add "to$rank" type veth peer name eth0 netns $!
  ip link set "to$rank" master bridge up
  # Open MPI distinguishes hosts by their names, and shared memory would be in /dev/shm.
  nsenter --target $! --net --uts --ipc --mount sh -ec "
    hostname $host
    mount -t tmpfs none /dev/shm
    ip link set lo up
    ip address add $host/24 dev eth0
    ip link set eth0 up"
  echo $! >"$folder/$host"
  hosts+=("$host")
done

cat >"$folder/agent" <<AGENT
#!/bin/sh
host=\$1
shift
exec nsenter --target "\$(cat $folder/\$host)" --net --uts --ipc --mount --wd="$PWD" sh -c "\$*"
AGENT
chmod +x "$folder/agent"

# Waiting ranks yield the cores to others, because there may be fewer cores than hosts.
unset OMPI_MCA_plm
"$mpiexec" --host "$(IFS=,; echo "${hosts[*]}")" -n "$ranks" --map-by node \
  --mca plm rsh --mca plm_rsh_agent "$folder/agent" --mca pml ob1 --mca btl tcp,self --mca mpi_yield_when_idle 1 \
  --mca btl_tcp_if_include 10.0.0.0/24 --mca oob_tcp_if_include 10.0.0.0/24 "$@"
