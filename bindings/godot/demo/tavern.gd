extends Control
## An evening in the tavern: Gorm talks, looks up his stock, sees the player's gold,
## and decides at closing time.

const PRICE := 45

## Ask Apple's model. Else the evening follows the scripts in models/, and needs nothing more.
@export var live := false

var _stock := {"sword": 3, "shield": 0}

@onready var _bridge: OamBridge = $Bridge
@onready var _village: OamWorld = $Bridge/Village
@onready var _gorm: OamNpc = $Bridge/Gorm
@onready var _note: Label = $Page/Note
@onready var _gold: Label = $Page/Gold
@onready var _face: Label = $Page/Face
@onready var _line: Label = $Page/Line
@onready var _replies: HBoxContainer = $Page/Replies
@onready var _own: LineEdit = $Page/Own


func _ready() -> void:
	if live:
		_gorm.model_script = ""
	else:
		_note.text = "Played by a script. Switch on 'live' of the scene's root to hear Apple's model."
	_gorm.handle_tool("check_inventory", _check_inventory)
	_gorm.line_changed.connect(_show_line)
	_gorm.emotion.connect(_show_emotion)
	_gorm.turn_finished.connect(_offer_replies)
	_gorm.turn_failed.connect(_show_error)
	_village.world_changed.connect(_show_change)
	_own.text_submitted.connect(say)
	$Page/CloseUp.pressed.connect(close_up)
	var gold: OamRequest = await _village.get_value("player.gold").completed
	_show_gold(gold.result.value)
	say("Do you have a sword for sale?")


## The player says something.
func say(line: String) -> void:
	_own.clear()
	_offer([])
	if line == "I take one.":
		await _buy_sword()
	_gorm.talk(line)


## The evening ends as Gorm sees fit.
func close_up() -> void:
	var settings := {"actor": _gorm.id(), "context": {"hour": 23}, "fallbackOptionID": "go_home"}
	if not live:
		var script := FileAccess.get_file_as_string("res://models/closing_time.json")
		settings["model"] = JSON.parse_string(script)
	var options := [
		{"id": "go_home", "description": "Say good night and walk home"},
		{"id": "one_more", "description": "Order one more ale and stay"},
	]
	var bell := "The innkeeper rings the last bell."
	var decision: OamRequest = await _bridge.decide(bell, options, settings).completed
	if decision.error:
		_show_error(decision.error)
	elif decision.result.optionID == "one_more":
		_line.text = "Gorm raises his mug once more. %s" % decision.result.reasoning
	else:
		_line.text = "Gorm nods and leaves. %s" % decision.result.reasoning


func _check_inventory(call: OamToolCall) -> Variant:
	var item: String = call.arguments.item
	if item not in _stock:
		call.fail("Gorm does not sell that. He sells: %s." % ", ".join(_stock.keys()))
		return null
	# A moment to look into the chest: a handler may wait.
	await get_tree().create_timer(0.3).timeout
	return {"item": item, "count": _stock[item], "price": PRICE}


func _buy_sword() -> void:
	var gold: OamRequest = await _village.get_value("player.gold").completed
	if gold.result.value >= PRICE:
		_stock.sword -= 1
		await _village.set_value("player.gold", gold.result.value - PRICE).completed


func _show_line(line_so_far: String) -> void:
	_line.text = line_so_far


func _show_emotion(emotion: String) -> void:
	_face.text = "Gorm (%s)" % emotion


func _show_change(path: String, value: Variant, _old_value: Variant) -> void:
	if path == "player.gold":
		_show_gold(value)


func _show_gold(gold: int) -> void:
	_gold.text = "Your gold: %d" % gold


func _show_error(error: OamError) -> void:
	_line.text = "(%s)" % error.message


func _offer_replies(turn: Dictionary) -> void:
	_offer(turn.playerOptions)


func _offer(replies: Array) -> void:
	for button in _replies.get_children():
		button.queue_free()
	for reply: String in replies:
		var button := Button.new()
		button.text = reply
		button.pressed.connect(say.bind(reply))
		_replies.add_child(button)
