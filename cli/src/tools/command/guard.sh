# Reads lines: "+ N", the process group N is watched from now on, and "- N", it is so no longer. When there are no more, whoever
# wrote them has ended, in whatever way, and the groups that are still watched are ended as well.
watched=' '
while read -r change group; do
    case $change in
    +) watched="$watched$group " ;;
    -) watched="${watched%% "$group" *} ${watched#* "$group" }" ;;
    esac
done
signal() {
    for group in $watched; do
        kill -s "$1" -- "-$group"
        # Also a leader that has left its group.
        kill -s "$1" "$group"
    done
}
[ "$watched" = ' ' ] && exit
signal TERM
signal CONT
sleep 1
# Their numbers may be others' by now, but for groups in which something still runs.
for group in $watched; do
    kill -s KILL -- "-$group"
done
