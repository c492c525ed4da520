extends SceneTree
## Plays an evening of the demo without a window and a player.
## Leaves with 0 when all went by the scripts.
##
## godot --headless --path bindings/godot/demo --script res://check.gd

const LIMIT_SECONDS := 30.0


func _initialize() -> void:
	create_timer(LIMIT_SECONDS).timeout.connect(_fail.bind("the evening does not end"))
	_play()


func _play() -> void:
	var tavern: Node = load("res://tavern.tscn").instantiate()
	var gorm: OamNpc = tavern.get_node("Bridge/Gorm")
	gorm.turn_failed.connect(_fail_turn)
	root.add_child.call_deferred(tavern)
	var offer: Dictionary = await gorm.turn_finished
	print(offer.line)
	if offer.emotion != "proud" or offer.toolCalls.size() != 1:
		_fail("not the offer: %s" % offer)
	tavern.say("I take one.")
	var sale: Dictionary = await gorm.turn_finished
	print(sale.line)
	var village: OamWorld = tavern.get_node("Bridge/Village")
	var gold: OamRequest = await village.get_value("player.gold").completed
	if gold.result.value != 15:
		_fail("gold is left: %s" % gold.result.value)
	await tavern.close_up()
	var last: String = tavern.get_node("Page/Line").text
	print(last)
	if not last.begins_with("Gorm raises his mug"):
		_fail("not the decision: %s" % last)
	# At once, in the middle of what its bridge delivers: a game may do so, too.
	tavern.free()
	quit(0)


func _fail_turn(error: OamError) -> void:
	_fail(error.message)


func _fail(why: String) -> void:
	printerr(why)
	quit(1)
